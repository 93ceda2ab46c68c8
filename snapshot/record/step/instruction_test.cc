#include "snapshot/record/step/instruction.h"

#include <gtest/gtest.h>

#include <vector>

namespace fathom::snapshot::step {
namespace {

Instruction of(std::vector<uint8_t> bytes) {
  return classify(bytes);
}

TEST(Instruction, KindsAsIntelPtTellsThemApart) {
  EXPECT_EQ(of({0x90}).kind, InstructionKind::kOther);
  EXPECT_EQ(of({0x74, 0x05}).kind, InstructionKind::kConditional);
  EXPECT_EQ(of({0xe2, 0xfe}).kind, InstructionKind::kConditional);  // loop
  EXPECT_EQ(of({0xe3, 0x00}).kind, InstructionKind::kConditional);  // jrcxz
  EXPECT_EQ(of({0xeb, 0x05}).kind, InstructionKind::kJump);
  EXPECT_EQ(of({0xff, 0xe0}).kind, InstructionKind::kJumpIndirect);
  EXPECT_EQ(of({0x3e, 0xff, 0xe0}).kind, InstructionKind::kJumpIndirect);  // notrack
  EXPECT_EQ(of({0xe8, 1, 0, 0, 0}).kind, InstructionKind::kCall);
  EXPECT_EQ(of({0xff, 0xd0}).kind, InstructionKind::kCallIndirect);
  EXPECT_EQ(of({0xff, 0x15, 1, 0, 0, 0}).kind, InstructionKind::kCallIndirect);
  EXPECT_EQ(of({0xc3}).kind, InstructionKind::kReturn);
  EXPECT_EQ(of({0xf2, 0xc3}).kind, InstructionKind::kReturn);
  EXPECT_EQ(of({0xc2, 8, 0}).kind, InstructionKind::kReturn);
  EXPECT_EQ(of({0x0f, 0x05}).kind, InstructionKind::kSystemCall);
  EXPECT_EQ(of({0xcd, 0x80}).kind, InstructionKind::kSystemCall);
  EXPECT_EQ(of({0xcc}).kind, InstructionKind::kBreakpoint);
  EXPECT_EQ(of({0xcb}).kind, InstructionKind::kFar);
  EXPECT_EQ(of({0x48, 0xcf}).kind, InstructionKind::kFar);
  EXPECT_EQ(of({0xff, 0x28}).kind, InstructionKind::kFar);                            // jmp far [rax]
  EXPECT_EQ(of({0xc7, 0xf8, 0, 0, 0, 0}).kind, InstructionKind::kOther);              // xbegin
  EXPECT_EQ(of({0x62, 0xf1, 0x7d, 0x48, 0xfe, 0xc1}).kind, InstructionKind::kOther);  // vpaddd zmm
}

TEST(Instruction, TargetsAndLengths) {
  const Instruction back = of({0x0f, 0x85, 0xf0, 0xff, 0xff, 0xff});
  EXPECT_EQ(back.length, 6);
  EXPECT_EQ(back.behind(0x1000), 0x1006U);
  EXPECT_EQ(back.target(0x1000), 0x0ff6U);
  EXPECT_EQ(of({0x62, 0xf1, 0x7d, 0x48, 0xfe, 0xc1}).length, 6);
}

TEST(Instruction, FlagsOfWhatNeedsCare) {
  EXPECT_EQ(of({0xf3, 0xa4}).flags & kRepeats, kRepeats);
  EXPECT_EQ(of({0xf2, 0xae}).flags & kRepeats, kRepeats);
  EXPECT_EQ(of({0xf3, 0xc3}).flags & kRepeats, 0);              // a return with a prefix that says nothing
  EXPECT_EQ(of({0xf3, 0x0f, 0x1e, 0xfa}).flags & kRepeats, 0);  // endbr64
  EXPECT_EQ(of({0x48, 0x89, 0x07}).flags, kWritesMemory);
  EXPECT_EQ(of({0x48, 0x8b, 0x07}).flags, 0);
  EXPECT_EQ(of({0x50}).flags, 0);
  EXPECT_EQ(of({0x9c}).flags, kPushesFlags);
  EXPECT_EQ(of({0x9d}).flags, kPopsFlags);
}

TEST(Instruction, WhatIsNoneHasNoLength) {
  EXPECT_EQ(of({}).length, 0);
  EXPECT_EQ(of({0x0f}).length, 0);
  EXPECT_EQ(of({0x06}).length, 0);
  EXPECT_EQ(of({0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66}).length, 0);
}

}  // namespace
}  // namespace fathom::snapshot::step

#include "snapshot/analyze/instruction_decoder.h"

#include <gtest/gtest.h>

#include "snapshot/analyze/instruction_pattern.h"
#include "snapshot/decode/testing/decoded.h"

namespace fathom::snapshot {
namespace {

constexpr uint64_t kBase = 0x401000;

class InstructionDecoderTest : public testing::Test {
 protected:
  // A block of `count` instructions at the beginning of `bytes`.
  const DecodedBlock& decode(const std::string& bytes, uint32_t count) {
    place_.add_code(snapshot_, bytes, kBase);
    return decode_at(kBase, count);
  }
  const DecodedBlock& decode_at(uint64_t ip, uint32_t count, CodeMode mode = CodeMode::k64) {
    map_ = std::make_unique<MemoryMap>(snapshot_);
    images_ = std::make_unique<CodeImages>(snapshot_, place_.directory());
    names_ = std::make_unique<CodeNames>(snapshot_, place_.directory(), *map_);
    decoder_ = std::make_unique<InstructionDecoder>(*images_, *map_);
    decoder_->run(42);
    FlowItem item;
    item.ip = ip;
    item.count = count;
    item.mode = mode;
    return decoder_->block(item);
  }
  // Of the last instruction of a block.
  uint16_t groups(const std::string& bytes, uint32_t count = 1) {
    const DecodedBlock& block = decode(bytes, count);
    EXPECT_EQ(block.instructions.size(), count);
    return block.instructions.back().groups;
  }
  int64_t eax(const std::string& bytes) { return decode(bytes, 1).instructions[0].eax; }
  bool fits(const std::string& pattern, const std::string& bytes) {
    const DecodedBlock& block = decode(bytes, 1);
    auto parsed = InstructionPattern::parse(pattern, snapshot_, *names_);
    EXPECT_TRUE(parsed.ok()) << pattern;
    return parsed.ok() && parsed->matches(block, block.instructions[0]);
  }

  SnapshotPlace place_;
  Snapshot snapshot_;
  std::unique_ptr<MemoryMap> map_;
  std::unique_ptr<CodeImages> images_;
  std::unique_ptr<CodeNames> names_;
  std::unique_ptr<InstructionDecoder> decoder_;
};

TEST_F(InstructionDecoderTest, TextAddressAndTarget) {
  const DecodedBlock& block = decode(std::string("\x48\x89\xe5\xe8\x10\x00\x00\x00", 8), 2);
  ASSERT_EQ(block.instructions.size(), 2u);
  EXPECT_EQ(block.instructions[0].text, "mov rbp, rsp");
  EXPECT_EQ(block.instructions[0].length, 3);
  EXPECT_EQ(block.instructions[1].address, kBase + 3);
  EXPECT_EQ(block.instructions[1].text, "call 0x401018");
  EXPECT_EQ(block.instructions[1].target, 0x401018u);
  EXPECT_EQ(block.instructions[1].groups, kGroupCall);
}

TEST_F(InstructionDecoderTest, BytesThatAreNoInstructionOrNotThere) {
  const DecodedBlock& block = decode("\x48", 3);
  EXPECT_EQ(block.instructions.size(), 1u);
  EXPECT_EQ(block.instructions[0].text, "(bad)");
  EXPECT_EQ(decode_at(0x999000, 1).instructions.back().text, "(no code)");
  EXPECT_EQ(decode_at(0x999000, 1).instructions.size(), 1u);
}

// clac with a prefix that it does not have: libipt goes on, and so does the text.
TEST_F(InstructionDecoderTest, WhatZydisDoesNotKnowIsPassed) {
  const DecodedBlock& block = decode("\x90\xf3\x0f\x01\xca\x90", 3);
  ASSERT_EQ(block.instructions.size(), 3u);
  EXPECT_EQ(block.instructions[1].text, "(bad) f3 0f 01 ca");
  EXPECT_EQ(block.instructions[2].text, "nop");
  EXPECT_EQ(block.instructions[2].address, kBase + 5);
}

TEST_F(InstructionDecoderTest, AnInstructionAcrossTwoImages) {
  place_.add_code(snapshot_, "\x90\x48", kBase);
  place_.add_code(snapshot_, "\x89\xe5", kBase + 2);
  const DecodedBlock& block = decode_at(kBase, 2);
  ASSERT_EQ(block.instructions.size(), 2u);
  EXPECT_EQ(block.instructions[1].text, "mov rbp, rsp");
}

// The same bytes, and never one mode's text for another.
TEST_F(InstructionDecoderTest, TheModeIsTheBlocks) {
  const std::string bytes("\x40\x89\xd8\xb8\x01\x02\x03\x04", 8);
  EXPECT_EQ(decode(bytes, 1).instructions[0].text, "mov eax, ebx");
  const DecodedBlock& narrow = decode_at(kBase, 3, CodeMode::k32);
  ASSERT_EQ(narrow.instructions.size(), 3u);
  EXPECT_EQ(narrow.instructions[0].text, "inc eax");
  EXPECT_EQ(narrow.instructions[1].text, "mov eax, ebx");
  EXPECT_EQ(narrow.instructions[2].text, "mov eax, 0x4030201");
  EXPECT_EQ(decode_at(kBase, 3, CodeMode::k16).instructions[2].text, "mov ax, 0x201");
  FlowItem item;
  item.ip = kBase;
  item.count = 1;
  EXPECT_EQ(decoder_->block(item).instructions[0].text, "mov eax, ebx");
}

TEST_F(InstructionDecoderTest, ABlockIsDecodedOnce) {
  const uint64_t id = decode("\x90\x90", 2).id;
  FlowItem item;
  item.ip = kBase;
  item.count = 2;
  EXPECT_EQ(decoder_->block(item).id, id);
  item.count = 1;
  EXPECT_NE(decoder_->block(item).id, id);
}

TEST_F(InstructionDecoderTest, InterruptsAreDisabledAndEnabled) {
  EXPECT_EQ(groups("\xfa"), kGroupDisablesInterrupts);        // cli
  EXPECT_EQ(groups("\xfb"), kGroupEnablesInterrupts);         // sti
  EXPECT_EQ(groups("\x50\x9d", 2), kGroupEnablesInterrupts);  // push rax; popfq
  // and eax, ~0x200 | 0xff..; push rax; popfq
  EXPECT_EQ(groups(std::string("\x48\x25\xff\xfd\xff\xff\x50\x9d", 8), 3), kGroupDisablesInterrupts);
  // and rax, ~1; push rax; popfq: another flag
  EXPECT_EQ(groups(std::string("\x48\x83\xe0\xfe\x50\x9d", 6), 3), kGroupEnablesInterrupts);
  EXPECT_EQ(groups(std::string("\x48\x0f\xba\xf0\x09\x50\x9d", 7), 3), kGroupDisablesInterrupts);  // btr rax, 9
  EXPECT_EQ(groups(std::string("\x48\x25\xff\xfd\xff\xff\x90\x9d", 8), 3), kGroupEnablesInterrupts);
}

TEST_F(InstructionDecoderTest, Groups) {
  EXPECT_EQ(groups("\x0f\x05"), kGroupSystemCall);
  EXPECT_EQ(groups("\xcd\x80"), kGroupSystemCall);
  EXPECT_EQ(groups("\xcd\x03"), 0);
  EXPECT_EQ(groups("\xf0\xff\x07"), kGroupLock);  // lock inc dword ptr [rdi]
  EXPECT_EQ(groups("\x87\x07"), kGroupLock);      // xchg [rdi], eax
  EXPECT_EQ(groups("\x93"), 0);                   // xchg ebx, eax
  EXPECT_EQ(groups("\xc3"), kGroupReturn);
  EXPECT_EQ(groups(std::string("\xeb\x00", 2)), kGroupJump);
  EXPECT_EQ(groups(std::string("\x74\x00", 2)), kGroupBranch);
  EXPECT_EQ(groups("\xd9\xe8"), kGroupFpu);                     // fld1
  EXPECT_EQ(groups("\x0f\x57\xc0"), kGroupVector);              // xorps xmm0, xmm0
  EXPECT_EQ(groups("\x62\xf1\x7c\x48\x57\xc0"), kGroupVector);  // vxorps zmm0, zmm0, zmm0
  EXPECT_EQ(groups("\x0f\xae\xf0"), kGroupFence);
}

TEST_F(InstructionDecoderTest, WhatIsPutIntoEax) {
  EXPECT_EQ(eax(std::string("\xb8\x27\x00\x00\x00", 5)), 39);
  EXPECT_EQ(eax("\x31\xc0"), 0);
  EXPECT_EQ(eax("\x89\xc8"), DecodedInstruction::kWritesUnknown);
  EXPECT_EQ(eax("\xb0\x01"), DecodedInstruction::kWritesUnknown);  // al alone
  EXPECT_EQ(eax("\x89\xc1"), DecodedInstruction::kWritesNothing);  // mov ecx, eax
}

TEST_F(InstructionDecoderTest, Patterns) {
  const std::string mov("\xb8\x27\x00\x00\x00", 5);
  EXPECT_TRUE(fits("mov", mov));
  EXPECT_TRUE(fits("MOV", mov));
  EXPECT_TRUE(fits("mov eax, *", mov));
  EXPECT_FALSE(fits("mov ebx, *", mov));
  EXPECT_TRUE(fits("m*", mov));
  EXPECT_TRUE(fits("0x401000", mov));
  EXPECT_FALSE(fits("0x401001", mov));
  EXPECT_TRUE(fits("lock *", "\xf0\xff\x07"));
  EXPECT_TRUE(fits("lock", "\xf0\xff\x07"));
  EXPECT_FALSE(fits("supercli", mov));
  EXPECT_EQ(mnemonic_name(mnemonic_number("CMPXCHG16B")), "cmpxchg16b");
  EXPECT_EQ(mnemonic_number("no such"), 0);
}

}  // namespace
}  // namespace fathom::snapshot

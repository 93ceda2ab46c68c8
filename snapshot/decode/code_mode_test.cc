// Code of 32 bits, and the way there and back: compatibility mode under a kernel of 64 bits.
#include <gtest/gtest.h>

#include <algorithm>

#include "snapshot/decode/testing/decoded.h"
#include "snapshot/decode/testing/stream_builder.h"

namespace fathom::snapshot {
namespace {

class CodeModeTest : public testing::Test {
 protected:
  CodeModeTest() {
    wide_ = program_.here();
    program_.plain(4);
    program_.interrupt_return();
    narrow_ = program_.here();
    function_ = program_.forward();
    for (int number = 0; number < 3; ++number) program_.increment();
    program_.call(function_);
    program_.increment();
    jump_ = program_.forward();
    program_.jcc(jump_);
    program_.increment();
    program_.bind(jump_);
    program_.interrupt_return_32();
    program_.bind(function_);
    for (int number = 0; number < 5; ++number) program_.increment();
    program_.ret();
    program_.link();
    snapshot_.timing = StreamBuilder::timing();
    place_.add_code(snapshot_, program_.link(), kProgramBase);
  }
  void step(StreamBuilder& builder, uint64_t to = 0) const {
    const Instruction& one = program_.instruction(builder.ip());
    if (one.op == Op::kJcc) return builder.step_jcc(one, false);
    if (one.op == Op::kReturn || one.op == Op::kInterruptReturn) return builder.step_indirect(one, to);
    builder.step(one);
  }
  // Through the wide code and the narrow code, and back.
  void round(StreamBuilder& builder) const {
    for (int number = 0; number < 4; ++number) step(builder);
    builder.mode(ptem_32bit);
    step(builder, program_.address(narrow_));
    for (int number = 0; number < 9; ++number) step(builder);
    step(builder, program_.address(narrow_) + 3 + 5);
    for (int number = 0; number < 3; ++number) step(builder);
    builder.mode(ptem_64bit);
    step(builder, program_.address(wide_));
  }
  void decode(const std::string& stream) {
    const SnapshotFile file = place_.write(snapshot_, {stream});
    found_ = Recorder();
    auto summary = decode_flow(file, place_.directory(), {1, 500}, found_);
    ASSERT_TRUE(summary.ok());
    EXPECT_EQ(summary->gap_total, 0u);
  }

  Program program_{kProgramBase};
  Program::Label wide_, narrow_, function_, jump_;
  SnapshotPlace place_;
  Snapshot snapshot_;
  Recorder found_;
};

TEST_F(CodeModeTest, BothWays) {
  for (uint64_t psb_bytes : {0, 60}) {
    StreamOptions options;
    options.psb_bytes = psb_bytes;
    StreamBuilder builder(options);
    builder.enable(kProgramBase);
    for (int count = 0; count < 20; ++count) round(builder);
    builder.disable();
    decode(builder.stream());
    std::vector<uint64_t> executed;
    for (const auto& one : builder.executed()) executed.push_back(one.ip);
    EXPECT_EQ(addresses(found_.items, program_), executed);
    for (const auto& item : found_.items) {
      if (item.kind != FlowKind::kBlock) continue;
      EXPECT_EQ(item.mode, item.ip < program_.address(narrow_) ? CodeMode::k64 : CodeMode::k32);
    }
    EXPECT_GT(std::ranges::count(found_.items, BlockEnd::kFarReturn, &FlowItem::end), 30);
    EXPECT_GT(std::ranges::count(found_.items, BlockEnd::kReturn, &FlowItem::end), 15);
  }
}

// Behind a gap the mode is that of the packets before.
TEST_F(CodeModeTest, IsKnownBehindAGap) {
  StreamBuilder builder({});
  builder.mode(ptem_32bit);
  builder.enable(program_.address(narrow_));
  for (int number = 0; number < 9; ++number) step(builder);
  step(builder, 0x500000);
  builder.raw("\x06");  // a branch there
  builder.interrupt(program_.address(narrow_));
  for (int number = 0; number < 3; ++number) step(builder);
  builder.disable();
  const SnapshotFile file = place_.write(snapshot_, {builder.stream()});
  auto summary = decode_flow(file, place_.directory(), {1, 500}, found_);
  ASSERT_TRUE(summary.ok());
  EXPECT_EQ(summary->gap_total, 1u);
  EXPECT_EQ(summary->instructions, 13u);
  const auto behind = addresses(found_.items, program_);
  EXPECT_EQ(behind[10], program_.address(narrow_));
}

}  // namespace
}  // namespace fathom::snapshot

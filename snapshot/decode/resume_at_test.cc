// Behind a gap, one kind of place after the other: where decoding goes on, and where it must not.
#include <gtest/gtest.h>

#include <algorithm>

#include "snapshot/decode/testing/decoded.h"
#include "snapshot/decode/testing/stream_builder.h"

namespace fathom::snapshot {
namespace {

// A piece of code that is there, and one that is not.
class ResumeAtTest : public testing::Test {
 protected:
  ResumeAtTest() {
    begin_ = program_.here();
    program_.plain(2);
    program_.system_call();
    handler_ = program_.here();
    program_.plain(3);
    program_.interrupt_return();
    branches_ = program_.here();
    program_.jcc(begin_);
    program_.jcc(begin_);
    program_.ret();
    gone_ = program_.here();
    program_.plain(4);
    leave_ = program_.here();
    program_.indirect_jump();
    program_.jcc(gone_);
    program_.plain();
    program_.link();
    gone_begin_ = program_.address(gone_);
  }
  uint64_t at(Program::Label label) const { return program_.address(label); }
  const Instruction& instruction(const StreamBuilder& builder) const { return program_.instruction(builder.ip()); }
  void run(StreamBuilder& builder, int count) {
    for (int number = 0; number < count; ++number) builder.step(instruction(builder));
  }
  DecodeSummary decode_without_end(StreamBuilder& builder) { return decode(builder.stream()); }
  DecodeSummary decode(const std::string& stream) {
    SnapshotPlace place;
    Snapshot snapshot;
    snapshot.timing = StreamBuilder::timing();
    place.add_code(snapshot, program_.link().substr(0, gone_begin_ - kProgramBase), kProgramBase);
    const SnapshotFile file = place.write(snapshot, {stream});
    found_ = Recorder();
    auto summary = decode_flow(file, place.directory(), {1, 500}, found_);
    EXPECT_TRUE(summary.ok());
    shown_ = addresses(found_.items, program_);
    return *summary;
  }
  size_t count(FlowKind kind) const {
    return static_cast<size_t>(std::ranges::count(found_.items, kind, &FlowItem::kind));
  }

  Recorder found_;
  std::vector<uint64_t> shown_;
  Program program_{kProgramBase};
  Program::Label begin_, handler_, branches_, gone_, leave_;
  uint64_t gone_begin_;
};

TEST_F(ResumeAtTest, WhereRecordingBegins) {
  StreamBuilder builder({});
  builder.enable(at(gone_));
  run(builder, 2);
  builder.disable();
  for (int round = 0; round < 3; ++round) {
    builder.enable(at(begin_));
    run(builder, 2);
    builder.step_system_call(instruction(builder));
  }
  const DecodeSummary summary = decode_without_end(builder);
  EXPECT_EQ(shown_.size(), 9u);
  EXPECT_EQ(summary.gap_total, 1u);
  EXPECT_EQ(count(FlowKind::kResume), 4u);
}

TEST_F(ResumeAtTest, WhereAnInterruptGoes) {
  for (bool defer : {false, true}) {
    StreamOptions options;
    options.defer_tips = defer;
    StreamBuilder builder(options);
    builder.enable(at(gone_));
    run(builder, 4);
    builder.step_indirect(instruction(builder), at(leave_));
    builder.step_indirect(instruction(builder), at(gone_));
    run(builder, 1);
    builder.interrupt(at(handler_));
    run(builder, 3);
    builder.disable();
    const DecodeSummary summary = decode_without_end(builder);
    EXPECT_EQ(shown_.size(), 3u);
    EXPECT_EQ(shown_.front(), at(handler_));
    EXPECT_EQ(summary.gap_total, 1u);
  }
}

TEST_F(ResumeAtTest, AnOverflowIsCountedOfItsOwn) {
  StreamBuilder builder({});
  builder.enable(at(gone_));
  run(builder, 4);
  builder.step_indirect(instruction(builder), at(gone_));
  builder.overflow(at(begin_));
  run(builder, 2);
  builder.disable();
  DecodeSummary summary = decode_without_end(builder);
  EXPECT_EQ(shown_.size(), 2u);
  EXPECT_EQ(summary.gaps[GapReason::kOverflow].count, 1u);
  EXPECT_EQ(summary.gaps[GapReason::kMissingImage].count, 1u);
}

// The bits behind such a TIP may lie before it.
TEST_F(ResumeAtTest, NotAtATipBehindBits) {
  StreamBuilder builder({});
  builder.enable(at(gone_));
  run(builder, 4);
  builder.step_indirect(instruction(builder), at(leave_) + 2);
  builder.step_jcc(instruction(builder), false);
  run(builder, 1);
  builder.pad(1);
  builder.interrupt(at(gone_));
  run(builder, 4);
  builder.step_indirect(instruction(builder), at(begin_));
  run(builder, 2);
  builder.step_system_call(instruction(builder));
  decode_without_end(builder);
  EXPECT_EQ(shown_.size(), 3u);  // of the second jump, which no bits are before
  StreamBuilder bits({});
  bits.enable(at(gone_));
  run(bits, 4);
  bits.step_indirect(instruction(bits), at(leave_) + 2);
  bits.step_jcc(instruction(bits), true);
  run(bits, 4);
  bits.step_indirect(instruction(bits), at(begin_));
  run(bits, 2);
  bits.step_system_call(instruction(bits));
  EXPECT_EQ(decode_without_end(bits).gap_total, 1u);
  EXPECT_TRUE(shown_.empty());
}

// Its caller lies before the gap: nobody knows where it goes.
TEST_F(ResumeAtTest, ACompressedReturnIsPartOfTheLoss) {
  std::string stream;
  StreamBuilder builder({});
  builder.enable(at(gone_));
  run(builder, 4);
  builder.step_indirect(instruction(builder), at(gone_));
  builder.interrupt(at(branches_));
  builder.step_jcc(instruction(builder), false);
  builder.step_jcc(instruction(builder), false);
  stream = builder.stream();
  stream.resize(stream.size() - 1);
  stream += static_cast<char>(0b00010010);  // TNT: not taken, not taken; and a return to the caller
  StreamBuilder end({});
  end.enable(at(begin_));
  run(end, 2);
  end.disable();
  const std::string behind = end.stream();
  stream += behind.substr(behind.find("\x02\x23") + 2);
  DecodeSummary summary = decode(stream);
  EXPECT_EQ(shown_, (std::vector<uint64_t>{at(branches_), at(branches_) + 6, at(branches_) + 12, at(begin_),
                                           at(begin_) + program_.instruction(at(begin_)).size}));
  EXPECT_EQ(summary.gap_total, 2u);
  EXPECT_EQ(summary.gaps[GapReason::kMissingImage].count, 2u);
}

// No more work than packets, and one gap while nothing is known.
TEST_F(ResumeAtTest, ManyWaysIntoNothingAreOneGap) {
  StreamBuilder builder({});
  for (int round = 0; round < 200000; ++round) {
    builder.enable(at(gone_));
    run(builder, 4);
    builder.step_indirect(instruction(builder), at(gone_));
    builder.disable();
  }
  const DecodeSummary summary = decode_without_end(builder);
  EXPECT_EQ(summary.gap_total, 1u);
  EXPECT_EQ(summary.instructions, 0u);
}

}  // namespace
}  // namespace fathom::snapshot

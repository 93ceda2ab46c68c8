#include <gtest/gtest.h>
#include <intel-pt.h>

#include <algorithm>

#include "snapshot/decode/analysis.h"
#include "snapshot/decode/testing/decoded.h"
#include "snapshot/decode/testing/walk.h"

namespace fathom::snapshot {
namespace {

StreamOptions often(uint64_t psb_bytes, bool timed = true) {
  StreamOptions options;
  options.psb_bytes = psb_bytes;
  options.mtc = options.cyc = timed;
  return options;
}

class DecodeFlowTest : public testing::Test {
 protected:
  DecodeFlowTest() {
    snapshot_.timing = StreamBuilder::timing();
    place_.add_code(snapshot_, code_.bytes(), kProgramBase);
  }

  std::string record(StreamOptions stream, WalkOptions options) {
    StreamBuilder builder(stream);
    walk(code_, builder, options);
    ran_ = builder.executed();
    executed_ = executed_ips(ran_);
    return builder.stream();
  }

  DecodeSummary decode(const std::string& stream, DecodeOptions options = {}) {
    const SnapshotFile file = place_.write(snapshot_, {stream});
    found_ = Recorder();
    auto summary = decode_flow(file, place_.directory(), options, found_);
    EXPECT_TRUE(summary.ok());
    return *summary;
  }

  uint64_t time_error(StreamOptions options, bool estimate);
  // Until the first that is more than plain.
  int straight_instructions() const {
    int count = 0;
    for (uint64_t ip = kProgramBase; code_.program().instruction(ip).op == Op::kPlain; ++count) {
      ip += code_.program().instruction(ip).size;
    }
    return count;
  }

  WalkedProgram code_{kProgramBase, 7};
  SnapshotPlace place_;
  Snapshot snapshot_;
  std::vector<StreamBuilder::Executed> ran_;
  std::vector<uint64_t> executed_;
  Recorder found_;
};

TEST_F(DecodeFlowTest, FindsWhatRan) {
  const std::string stream = record({}, {});
  const DecodeSummary summary = decode(stream);
  EXPECT_EQ(summary.gap_total, 0u);
  EXPECT_EQ(summary.instructions, executed_.size());
  EXPECT_EQ(addresses(found_.items, code_.program()), executed_);
}

// A guest has addresses of its own: what the host shows there is not what ran.
TEST_F(DecodeFlowTest, GuestsOfAHypervisorAreAGapUntilTheHostRuns) {
  StreamBuilder builder({});
  const auto run = [&](int count) {
    builder.enable(kProgramBase);
    for (int i = 0; i < count; ++i) builder.step(code_.program().instruction(builder.ip()));
    builder.disable();
  };
  const int straight = straight_instructions();
  ASSERT_GT(straight, 0);
  run(straight);
  builder.paging(0x1000, true);
  run(straight);
  run(straight);  // where decoding could go on, if the host ran
  builder.psb();
  builder.paging(0x2000, false);
  run(straight);
  const DecodeSummary summary = decode(builder.stream());
  EXPECT_EQ(summary.instructions, 2u * static_cast<unsigned>(straight));
  ASSERT_GE(summary.gap_total, 1u);
  const GapCount& gap = summary.gaps.at(GapReason::kMissingImage);
  EXPECT_NE(gap.first_cause.find("guest of a hypervisor"), std::string::npos) << gap.first_cause;
}

// A hypervisor recorded it: the images that a person names are those of the guest.
TEST_F(DecodeFlowTest, OfARawStreamTheImagesAreTheGuestsToo) {
  snapshot_.origin = Origin::kRawStream;
  StreamBuilder builder({});
  const int straight = straight_instructions();
  for (const bool guest : {true, false, true}) {
    builder.paging(0x1000, guest);
    builder.enable(kProgramBase);
    for (int i = 0; i < straight; ++i) builder.step(code_.program().instruction(builder.ip()));
    builder.disable();
  }
  const DecodeSummary summary = decode(builder.stream());
  EXPECT_EQ(summary.gap_total, 0u);
  EXPECT_EQ(summary.instructions, 3u * static_cast<unsigned>(straight));
}

// Its PSB+ says whose code a segment begins with.
TEST_F(DecodeFlowTest, ASegmentThatBeginsInAGuestIsAGap) {
  StreamBuilder builder({});
  builder.enable(kProgramBase);
  for (int i = 0; i < straight_instructions(); ++i) builder.step(code_.program().instruction(builder.ip()));
  builder.disable();
  std::string stream = builder.stream();
  const std::string psb_end("\x02\x23", 2);
  const std::string guest_pip("\x02\x43\x01\x00\x00\x00\x00\x00", 8);
  stream.insert(stream.find(psb_end), guest_pip);
  const DecodeSummary summary = decode(stream);
  EXPECT_EQ(summary.instructions, 0u);
  EXPECT_EQ(summary.gaps.at(GapReason::kMissingImage).count, 1u);
}

// The instruction decoder over the whole stream, as libipt's header has it.
std::vector<uint64_t> plain_loop(std::string stream, const std::string& image_path, size_t image_bytes) {
  pt_config config;
  pt_config_init(&config);
  config.begin = reinterpret_cast<uint8_t*>(stream.data());
  config.end = config.begin + stream.size();
  pt_insn_decoder* decoder = pt_insn_alloc_decoder(&config);
  pt_image_add_file(pt_insn_get_image(decoder), image_path.c_str(), 0, image_bytes, nullptr, kProgramBase);
  std::vector<uint64_t> all;
  int status = pt_insn_sync_forward(decoder);
  while (status >= 0) {
    if ((status & pts_event_pending) != 0) {
      pt_event event;
      status = pt_insn_event(decoder, &event, sizeof event);
      continue;
    }
    pt_insn instruction = {};
    status = pt_insn_next(decoder, &instruction, sizeof instruction);
    if (instruction.iclass != ptic_error) all.push_back(instruction.ip);
  }
  EXPECT_EQ(status, -pte_eos);
  pt_insn_free_decoder(decoder);
  return all;
}

TEST_F(DecodeFlowTest, FindsWhatAPlainLoopFinds) {
  for (unsigned seed = 1; seed <= 4; ++seed) {
    const std::string stream = record(often(200, seed % 2 == 0), {.seed = seed, .instructions = 30000});
    decode(stream, {1, 1000});
    const Image& image = snapshot_.images[0];
    EXPECT_EQ(plain_loop(stream, place_.directory().image_path(image.content), image.bytes), executed_);
    EXPECT_EQ(addresses(found_.items, code_.program()), executed_);
  }
}

TEST_F(DecodeFlowTest, SharesOfAnySizeAndAnyThreadsGiveTheSame) {
  for (unsigned seed = 1; seed <= 8; ++seed) {
    const std::string stream = record(often(40 + 30 * seed, seed % 2 == 0), {.seed = seed, .instructions = 20000});
    for (uint64_t part_bytes : {uint64_t{1}, uint64_t{300}, uint64_t{5000}, uint64_t{1} << 20}) {
      for (unsigned threads : {1u, 2u, 4u}) {
        const DecodeSummary summary = decode(stream, {threads, part_bytes});
        EXPECT_EQ(summary.gap_total, 0u) << seed << " " << part_bytes;
        ASSERT_EQ(addresses(found_.items, code_.program()), executed_) << seed << " " << part_bytes << " " << threads;
      }
    }
  }
}

TEST_F(DecodeFlowTest, ItemsDoNotDependOnThreads) {
  const std::string stream = record(often(300), {.instructions = 50000});
  decode(stream, {1, 2000});
  const std::vector<FlowItem> alone = found_.items;
  for (int round = 0; round < 5; ++round) {
    decode(stream, {4, 2000});
    EXPECT_EQ(found_.items, alone);
  }
}

TEST_F(DecodeFlowTest, BlocksSayHowTheyEnd) {
  decode(record(often(500), {.instructions = 30000}));
  uint64_t checked = 0;
  for (const auto& item : found_.items) {
    if (item.kind != FlowKind::kBlock || item.end == BlockEnd::kOther) continue;
    switch (code_.program().instruction(item.to).op) {
      case Op::kJump:
      case Op::kIndirectJump:
        EXPECT_EQ(item.end, BlockEnd::kJump);
        break;
      case Op::kJcc:
        EXPECT_EQ(item.end, BlockEnd::kConditionalJump);
        break;
      case Op::kCall:
      case Op::kIndirectCall:
        EXPECT_EQ(item.end, BlockEnd::kCall);
        break;
      case Op::kReturn:
        EXPECT_EQ(item.end, BlockEnd::kReturn);
        break;
      case Op::kSystemCall:
        EXPECT_EQ(item.end, BlockEnd::kFarCall);
        break;
      case Op::kInterruptReturn:
        EXPECT_EQ(item.end, BlockEnd::kFarReturn);
        break;
      default:
        ADD_FAILURE() << "a plain instruction ends a block as a branch";
    }
    ++checked;
  }
  EXPECT_GT(checked, 1000u);
}

// How far the times of blocks are from those at which they ran, on average.
uint64_t DecodeFlowTest::time_error(StreamOptions options, bool estimate) {
  DecodeOptions how{2, 1000};
  how.estimate_times = estimate;
  decode(record(options, {.instructions = 30000}), how);
  size_t at = 0;
  uint64_t last = 0, blocks = 0, error = 0;
  for (const auto& item : found_.items) {
    EXPECT_GE(item.tsc, last);
    last = item.tsc;
    if (item.kind != FlowKind::kBlock) continue;
    error += item.tsc > ran_[at].tsc ? item.tsc - ran_[at].tsc : ran_[at].tsc - item.tsc;
    at += item.count;
    ++blocks;
  }
  return error / std::max<uint64_t>(blocks, 1);
}

TEST_F(DecodeFlowTest, TimesOfCyclePacketsAreNearer) {
  const uint64_t told = time_error(often(2000), false), estimated = time_error(often(2000), true);
  EXPECT_LT(told, 60u);  // thirty instructions
  EXPECT_LT(estimated, told);
}

// MTC packets are there, but what they count is not known.
TEST_F(DecodeFlowTest, CyclesTellTimeWithoutTheCrystal) {
  snapshot_.timing.cpuid_0x15_eax = snapshot_.timing.cpuid_0x15_ebx = 0;
  EXPECT_LT(time_error(often(2000), false), 60u);
}

// A loop, between times that only synchronisation points tell.
TEST_F(DecodeFlowTest, TimesBetweenPacketsAreEstimated) {
  Program program(kProgramBase);
  const auto begin = program.here();
  program.plain(4);
  program.jcc(begin);
  program.plain(1);
  SnapshotPlace place;
  Snapshot snapshot;
  snapshot.timing = StreamBuilder::timing();
  place.add_code(snapshot, program.link(), kProgramBase);
  StreamBuilder builder(often(500, false));
  builder.enable(kProgramBase);
  while (builder.executed().size() < 100'000) {
    const Instruction& instruction = program.instruction(builder.ip());
    instruction.op == Op::kJcc ? builder.step_jcc(instruction, true) : builder.step(instruction);
  }
  for (bool estimate : {false, true}) {
    Recorder found;
    DecodeOptions options{1, 1000};
    options.estimate_times = estimate;
    ASSERT_TRUE(decode_flow(place.write(snapshot, {builder.stream()}), place.directory(), options, found).ok());
    size_t at = 0;
    uint64_t worst = 0;
    for (const auto& item : found.items) {
      if (item.kind != FlowKind::kBlock || item.tsc >= builder.tsc() - 20'000)
        continue;  // no time behind the last ones
      const uint64_t ran = builder.executed()[at].tsc;
      worst = std::max(worst, item.tsc > ran ? item.tsc - ran : ran - item.tsc);
      at += item.count;
    }
    EXPECT_GT(at, 80'000u);
    EXPECT_EQ(estimate, worst < 200) << worst;
    EXPECT_EQ(!estimate, worst > 10'000) << worst;
  }
}

TEST_F(DecodeFlowTest, EventsAreItems) {
  decode(record(often(300), {.instructions = 20000}));
  uint64_t kinds[8] = {};
  for (const auto& item : found_.items) {
    ++kinds[static_cast<size_t>(item.kind)];
    EXPECT_TRUE(item.kind != FlowKind::kInterrupt || item.to == code_.handler());
    EXPECT_TRUE(item.kind != FlowKind::kMark || code_.program().instruction(item.ip).op == Op::kPtwrite);
  }
  EXPECT_GT(kinds[static_cast<size_t>(FlowKind::kInterrupt)], 20u);
  EXPECT_GT(kinds[static_cast<size_t>(FlowKind::kMark)], 20u);
  EXPECT_GT(kinds[static_cast<size_t>(FlowKind::kPause)], 20u);
  EXPECT_EQ(kinds[static_cast<size_t>(FlowKind::kPause)], kinds[static_cast<size_t>(FlowKind::kResume)]);
}

TEST_F(DecodeFlowTest, MarksAreWhatWasWrittenWithAndWithoutTheirAddress) {
  for (const bool says_ip : {false, true}) {
    StreamOptions options = often(300);
    options.ptwrite_ip = says_ip;
    decode(record(options, {.instructions = 20000}));
    uint64_t marks = 0;
    for (const auto& item : found_.items) {
      if (item.kind != FlowKind::kMark) continue;
      marks++;
      EXPECT_EQ(code_.program().instruction(item.ip).op, Op::kPtwrite);
    }
    EXPECT_GT(marks, 20u);
    EXPECT_TRUE(std::ranges::none_of(found_.items, [](const auto& item) { return item.kind == FlowKind::kGap; }));
  }
}

TEST_F(DecodeFlowTest, OverflowsAreGapsAndTheRestIsThere) {
  StreamBuilder builder(often(150));
  walk(code_, builder, {.instructions = 40000, .overflows = true});
  const DecodeSummary summary = decode(builder.stream(), {2, 1000});
  EXPECT_GT(summary.gaps.at(GapReason::kOverflow).count, 5u);
  EXPECT_EQ(summary.gaps.at(GapReason::kOverflow).count, summary.gap_total);
  // Behind the last branch before an overflow nothing tells what ran.
  const auto all = addresses(found_.items, code_.program());
  EXPECT_LE(all.size(), builder.executed().size());
  EXPECT_GT(all.size(), builder.executed().size() - summary.gap_total * 20);
  EXPECT_EQ(std::ranges::count(all, UINT64_MAX), 0);
}

TEST_F(DecodeFlowTest, SynchronisationPointsWithNothingBetweenAreNoGaps) {
  for (bool timed : {true, false}) {
    StreamOptions options;
    options.tsc = timed;
    StreamBuilder builder(options);
    builder.psb();
    builder.enable(code_.function(0));
    builder.step(code_.program().instruction(builder.ip()));
    builder.psb();
    builder.psb();
    builder.disable();
    builder.psb();
    builder.psb();
    const DecodeSummary summary = decode(builder.stream());
    EXPECT_EQ(summary.gap_total, 0u);
    EXPECT_EQ(summary.instructions, 1u);
  }
}

TEST_F(DecodeFlowTest, StopsWhenEnoughWasSeen) {
  const std::string stream = record(often(200), {.instructions = 50000});
  const SnapshotFile file = place_.write(snapshot_, {stream});
  found_.stop_after = 3;
  auto summary = decode_flow(file, place_.directory(), {2, 1000}, found_);
  ASSERT_FALSE(summary.ok());
  EXPECT_EQ(summary.error().code, ErrorCode::kCancelled);
  EXPECT_EQ(found_.parts, 3u);
}

TEST_F(DecodeFlowTest, PiecesOfAStreamAreOneAndHolesAreGaps) {
  const std::string stream = record(often(400), {.instructions = 20000});
  auto draft = place_.directory().draft();
  auto writer = SnapshotWriter::begin(Fd(::open(draft->c_str(), O_RDWR | O_CLOEXEC)));
  const auto* bytes = reinterpret_cast<const uint8_t*>(stream.data());
  // Two streams by turns, so that each has pieces; one of them has a hole.
  for (size_t at = 0; at < stream.size(); at += 1001) {
    const size_t size = std::min<size_t>(1001, stream.size() - at);
    ASSERT_TRUE(writer->packets(0, at, {bytes + at, size}).ok());
    if (at / 1001 != 2) {
      ASSERT_TRUE(writer->packets(1, at, {bytes + at, size}).ok());
    }
  }
  snapshot_.streams.resize(2);
  ASSERT_TRUE(writer->finish(snapshot_).ok());
  auto file = SnapshotFile::open(*draft);
  ASSERT_TRUE(file.ok());
  auto summary = decode_flow(*file, place_.directory(), {2, 1000}, found_);
  ASSERT_TRUE(summary.ok());
  EXPECT_EQ(summary->gaps.at(GapReason::kPacketsLost).count, 1u);
  EXPECT_EQ(summary->gap_total, 1u);
  const auto all = addresses(found_.items, code_.program());
  ASSERT_GT(all.size(), executed_.size());
  EXPECT_TRUE(std::equal(executed_.begin(), executed_.end(), all.begin()));
  EXPECT_LT(all.size(), 2 * executed_.size());
}

}  // namespace
}  // namespace fathom::snapshot

// Behind a gap: decoding goes on as soon as the position is certain, and what it shows is what ran, in that order.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/testing/repetitions.h"
#include "snapshot/decode/testing/decoded.h"
#include "snapshot/decode/testing/walk.h"
#include "snapshot/decode/tip_order.h"

namespace fathom::snapshot {
namespace {

bool in_order(const std::vector<uint64_t>& part, const std::vector<uint64_t>& whole) {
  auto at = whole.begin();
  for (uint64_t ip : part) {
    at = std::find(at, whole.end(), ip);
    if (at++ == whole.end()) return false;
  }
  return true;
}

pt_config plain_config() {
  pt_config config;
  pt_config_init(&config);
  return config;
}

class ResumeTest : public testing::Test {
 protected:
  // All of `program` but [from, to), where there is nothing.
  DecodeSummary decode(const std::string& stream, Program& program, uint64_t from, uint64_t to, unsigned threads = 1) {
    SnapshotPlace place;
    Snapshot snapshot;
    snapshot.timing = StreamBuilder::timing();
    const std::string& code = program.link();
    const uint64_t end = program.base() + code.size();
    if (from > program.base()) place.add_code(snapshot, code.substr(0, from - program.base()), program.base());
    if (to < end) place.add_code(snapshot, code.substr(to - program.base()), to);
    const SnapshotFile file = place.write(snapshot, {stream});
    found_ = Recorder();
    auto summary = decode_flow(file, place.directory(), {threads, 500}, found_);
    EXPECT_TRUE(summary.ok());
    shown_ = addresses(found_.items, program);
    return *summary;
  }

  Recorder found_;
  std::vector<uint64_t> shown_;
};

std::vector<StreamOptions> all_styles() {
  std::vector<StreamOptions> all;
  for (int bits = 0; bits < 16; ++bits) {
    StreamOptions options;
    options.defer_tips = (bits & 1) != 0;
    options.compress_returns = (bits & 2) != 0;
    options.mtc = options.cyc = (bits & 4) != 0;
    options.psb_bytes = (bits & 8) != 0 ? 700 : 0;
    all.push_back(options);
  }
  return all;
}

TEST_F(ResumeTest, DeferredTipsAreDecoded) {
  WalkedProgram code(kProgramBase, 7);
  StreamOptions options;
  options.defer_tips = options.mtc = options.cyc = true;
  StreamBuilder builder(options);
  walk(code, builder, {.instructions = 20000});
  Program program = code.program();
  EXPECT_EQ(decode(builder.stream(), program, kProgramBase, kProgramBase).gap_total, 0u);
  EXPECT_EQ(shown_, executed_ips(builder.executed()));
}

TEST_F(ResumeTest, TheOrderOfTipsIsSeen) {
  WalkedProgram code(kProgramBase, 7);
  for (bool defer : {false, true}) {
    StreamOptions options;
    options.defer_tips = defer;
    options.mtc = options.cyc = true;
    StreamBuilder builder(options);
    walk(code, builder, {.instructions = 20000});
    const std::string stream = builder.stream();
    EXPECT_EQ(tips_send_bits(plain_config(), packet_span(stream)), !defer);
    EXPECT_FALSE(tips_send_bits(plain_config(), packet_span(stream).first(200)));
    // Bits that were sent early: one TNT of one bit, and the next one.
    EXPECT_FALSE(tips_send_bits(plain_config(), packet_span(stream + "\x06\x06")));
  }
}

TEST_F(ResumeTest, WithoutAFunctionTheOthersAreASubsetInOrder) {
  for (unsigned seed = 1; seed <= 3; ++seed) {
    WalkedProgram code(kProgramBase, seed);
    Program program = code.program();
    for (auto options : all_styles()) {
      StreamBuilder builder(options);
      walk(code, builder, {.seed = seed, .instructions = 6000});
      const std::string stream = builder.stream();
      const std::vector<uint64_t> whole = executed_ips(builder.executed());
      for (size_t gone = seed % 3; gone + 1 < code.functions().size(); gone += 3 * repetition_stride()) {
        const DecodeSummary summary = decode(stream, program, code.function(gone), code.function(gone + 1));
        EXPECT_TRUE(in_order(shown_, whole)) << seed << " " << gone << " " << options.defer_tips;
        const auto missing = summary.gaps.find(GapReason::kMissingImage);
        EXPECT_EQ(summary.gap_total, missing == summary.gaps.end() ? 0 : missing->second.count);
      }
    }
  }
}

// Most of what has bytes is shown, although there is but one PSB.
TEST_F(ResumeTest, LittleIsLostWithAFunction) {
  WalkedProgram code(kProgramBase, 7);
  Program program = code.program();
  for (bool defer : {false, true}) {
    StreamOptions options;
    options.defer_tips = defer;
    StreamBuilder builder(options);
    walk(code, builder, {.instructions = 20000});
    const std::vector<uint64_t> whole = executed_ips(builder.executed());
    decode(builder.stream(), program, code.function(9), code.function(10));
    EXPECT_GT(shown_.size(), whole.size() / (defer ? 4 : 2));
    EXPECT_TRUE(in_order(shown_, whole));
  }
}

TEST_F(ResumeTest, SharesAndThreadsDoNotMatter) {
  WalkedProgram code(kProgramBase, 5);
  Program program = code.program();
  StreamOptions options;
  options.psb_bytes = 900;
  options.mtc = options.cyc = true;
  StreamBuilder builder(options);
  walk(code, builder, {.instructions = 30000});
  const DecodeSummary alone = decode(builder.stream(), program, code.function(3), code.function(5));
  const std::vector<FlowItem> items = found_.items;
  for (unsigned threads : {2u, 4u}) {
    const DecodeSummary summary = decode(builder.stream(), program, code.function(3), code.function(5), threads);
    EXPECT_EQ(found_.items, items);
    EXPECT_EQ(summary.gap_total, alone.gap_total);
  }
}

TEST_F(ResumeTest, TimesGoOn) {
  WalkedProgram code(kProgramBase, 7);
  Program program = code.program();
  for (bool cycles : {false, true}) {
    StreamOptions options;
    options.mtc = true;
    options.cyc = cycles;
    StreamBuilder builder(options);
    walk(code, builder, {.instructions = 20000});
    decode(builder.stream(), program, kProgramBase, kProgramBase);
    const std::vector<FlowItem> whole = found_.items;
    decode(builder.stream(), program, code.function(9), code.function(10));
    auto at = whole.begin();
    for (const auto& item : found_.items) {
      if (item.kind != FlowKind::kPause || item.ip == 0) continue;
      // Pauses are rare enough that the next one at the same place and time is the same one.
      at = std::find_if(at, whole.end(), [&](const FlowItem& other) {
        return other.kind == item.kind && other.ip == item.ip && other.tsc + 200 > item.tsc;
      });
      ASSERT_NE(at, whole.end());
      EXPECT_LE(at->tsc, item.tsc + 200);
    }
  }
}

}  // namespace
}  // namespace fathom::snapshot

// Damaged input: no crash, no hang, no address that is not code; and of what is only missing, a subset.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>
#include <set>

#include "snapshot/decode/testing/decoded.h"
#include "snapshot/decode/testing/walk.h"

namespace fathom::snapshot {
namespace {

constexpr uint64_t kFarBase = 0x7f0000400000;

class DamageTest : public testing::Test {
 protected:
  DamageTest() {
    snapshot_.timing = StreamBuilder::timing();
    place_.add_code(snapshot_, code_.bytes(), kProgramBase);
    StreamOptions options;
    options.psb_bytes = 200;
    options.mtc = options.cyc = true;
    StreamBuilder builder(options);
    walk(code_, builder, {.seed = 3, .instructions = 4000});
    stream_ = builder.stream();
    executed_ = executed_ips(builder.executed());
  }

  DecodeSummary decode(const std::string& stream, unsigned threads = 1) {
    const SnapshotFile file = place_.write(snapshot_, {stream});
    found_ = Recorder();
    auto summary = decode_flow(file, place_.directory(), {threads, 500}, found_);
    EXPECT_TRUE(summary.ok());
    check_addresses();
    return summary.ok() ? *summary : DecodeSummary();
  }

  void check_addresses() const {
    for (const auto& item : found_.items) {
      if (item.kind == FlowKind::kThread) continue;
      EXPECT_TRUE(item.ip == 0 || is_code(item.ip)) << std::hex << item.ip;
      EXPECT_TRUE(item.to == 0 || item.kind == FlowKind::kMark || is_code(item.to)) << std::hex << item.to;
    }
  }
  bool is_code(uint64_t ip) const {
    return std::ranges::any_of(snapshot_.sideband, [&](const Sideband& row) {
      return row.kind == SidebandKind::kMap && ip >= row.address && ip - row.address < row.length;
    });
  }
  std::vector<uint64_t> found_addresses() const { return addresses(found_.items, code_.program()); }

  WalkedProgram code_{kProgramBase, 11};
  SnapshotPlace place_;
  Snapshot snapshot_;
  std::string stream_;
  std::vector<uint64_t> executed_;
  Recorder found_;
};

TEST_F(DamageTest, EveryPrefixIsAPartOfTheWhole) {
  const std::set<uint64_t> whole(executed_.begin(), executed_.end());
  for (size_t size = 0; size < stream_.size(); size += size < 800 ? 1 : 7) {
    const DecodeSummary summary = decode(stream_.substr(0, size));
    EXPECT_EQ(summary.gap_total, size < 16 && size > 0 ? 1u : 0u) << size;
    const auto all = found_addresses();
    EXPECT_TRUE(std::ranges::all_of(all, [&](uint64_t ip) { return whole.contains(ip); })) << size;
    // All but the straight code behind the last packet is what ran, one by one.
    const auto differs = std::ranges::mismatch(all, executed_).in1;
    EXPECT_LT(all.end() - differs, 30) << size;
  }
}

TEST_F(DamageTest, FlippedBitsNeitherCrashNorHang) {
  std::mt19937 random(5);
  for (int round = 0; round < 600; ++round) {
    std::string damaged = stream_;
    for (unsigned flips = 1 + random() % 4; flips > 0; --flips)
      damaged[random() % damaged.size()] ^= 1 << (random() % 8);
    decode(damaged);
  }
}

TEST_F(DamageTest, OneFlipSpoilsItsSegmentAlone) {
  std::mt19937 random(6);
  const std::vector<uint64_t> whole = executed_;
  for (int round = 0; round < 50; ++round) {
    std::string damaged = stream_;
    damaged[stream_.size() / 2 + random() % 100] ^= 1 << (random() % 8);
    decode(damaged);
    const auto all = found_addresses();
    const auto from_begin = std::ranges::mismatch(all, whole);
    const auto begin = static_cast<size_t>(from_begin.in1 - all.begin());
    size_t end = 0;
    while (end < all.size() && end < whole.size() && all[all.size() - 1 - end] == whole[whole.size() - 1 - end]) ++end;
    EXPECT_GE(begin + end, whole.size() * 3 / 4);
  }
}

TEST_F(DamageTest, RemovedStretchesAreSurvived) {
  std::mt19937 random(8);
  for (int round = 0; round < 200; ++round) {
    std::string damaged = stream_;
    damaged.erase(random() % damaged.size(), 1 + random() % 300);
    decode(damaged, 2);
  }
}

TEST_F(DamageTest, NoiseIsNoFlow) {
  std::mt19937 random(9);
  for (int round = 0; round < 200; ++round) {
    std::string noise = stream_.substr(0, 60);
    while (noise.size() < 3000) noise += static_cast<char>(random());
    decode(noise);
  }
}

TEST_F(DamageTest, AMissingImageIsACountedGap) {
  snapshot_.images[0].content = {};
  snapshot_.images[0].missing = "not readable";
  const DecodeSummary summary = decode(stream_);
  EXPECT_EQ(summary.instructions, 0u);
  EXPECT_EQ(summary.gaps.at(GapReason::kMissingImage).count, summary.gap_total);
  EXPECT_EQ(summary.gaps.at(GapReason::kMissingImage).first_cause, "[code]: not readable");
  EXPECT_GT(summary.gap_total, 3u);
}

TEST_F(DamageTest, ATruncatedImageShowsWhatItHas) {
  const std::string path = place_.directory().image_path(snapshot_.images[0].content);
  const std::set<uint64_t> whole(executed_.begin(), executed_.end());
  const size_t size = code_.bytes().size();
  for (size_t kept = 0; kept < size; kept += 97) {
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    std::ofstream(path, std::ios::binary | std::ios::trunc)
        .write(WalkedProgram(kProgramBase, 11).bytes().data(), static_cast<std::streamsize>(kept));
    DecodeSummary summary = decode(stream_);
    const GapCount gaps = summary.gaps[GapReason::kMissingImage];
    EXPECT_EQ(gaps.count, summary.gap_total) << kept;
    EXPECT_TRUE(gaps.count > 0 || kProgramBase + kept > *whole.rbegin());
    EXPECT_TRUE(gaps.count == 0 || gaps.first_cause == "[code]: its copy is cut short") << gaps.first_cause;
    for (uint64_t ip : found_addresses()) EXPECT_TRUE(whole.contains(ip) && ip < kProgramBase + kept);
  }
}

TEST_F(DamageTest, WithoutAMapThereIsNoCode) {
  snapshot_.sideband.clear();
  const DecodeSummary summary = decode(stream_);
  EXPECT_EQ(summary.instructions, 0u);
  EXPECT_NE(summary.gaps.at(GapReason::kMissingImage).first_cause.find("no image is known at 0x"), std::string::npos);
}

// A jump to itself needs no packet and has no end.
TEST_F(DamageTest, EndlessCodeEnds) {
  Program endless(kFarBase);
  const auto self = endless.here();
  endless.jump(self);
  place_.add_code(snapshot_, endless.link(), kFarBase);
  StreamBuilder builder({});
  builder.enable(kFarBase);
  const std::string open_end = builder.stream();
  DecodeSummary summary = decode(open_end);
  EXPECT_LT(summary.instructions, 10u);
  EXPECT_EQ(summary.gap_total, 0u);
  // A packet that will never be reached.
  builder.interrupt(kProgramBase);
  Program elsewhere(kFarBase + 100);
  elsewhere.plain();
  StreamBuilder lost({});
  lost.enable(kFarBase);
  std::string stuck = lost.stream();
  StreamBuilder other({});
  other.enable(kFarBase + 0x50);
  other.disable();
  const std::string with_fup = other.stream();
  stuck += with_fup.substr(with_fup.size() - 4);  // FUP of two bytes, TIP.PGD
  summary = decode(stuck);
  EXPECT_EQ(summary.gaps.at(GapReason::kDecodeError).count, 1u);
}

// Straight code may be long: only an address that comes again without a packet is a loop.
TEST_F(DamageTest, LongChainsOfDirectJumpsAreNoLoop) {
  constexpr int kJumps = 30'000;
  Program chain(kFarBase);
  const auto begin = chain.here();
  for (int i = 0; i < kJumps; ++i) {
    const auto next = chain.forward();
    chain.jump(next);
    chain.bind(next);
  }
  chain.jcc(begin);
  chain.plain(1);
  place_.add_code(snapshot_, chain.link(), kFarBase);
  StreamOptions options;
  options.remember = false;
  StreamBuilder builder(options);
  builder.enable(kFarBase);
  uint64_t ran = 0;
  for (int round = 0; round < 20; ++round) {
    for (int i = 0; i < kJumps; ++i) builder.step(chain.instruction(builder.ip()));
    builder.step_jcc(chain.instruction(builder.ip()), round < 19);
    ran += kJumps + 1;
  }
  builder.disable();
  const DecodeSummary summary = decode(builder.stream());
  EXPECT_EQ(summary.gap_total, 0u);
  EXPECT_EQ(summary.instructions, ran);
}

TEST_F(DamageTest, ASegmentThatDoesNotFitIntoMemoryIsCutOff) {
  const DecodeSummary summary = decode(stream_ + std::string(65u << 20, '\0') + stream_);
  EXPECT_EQ(summary.gaps.at(GapReason::kPacketsLost).count, 1u);
  EXPECT_EQ(summary.gap_total, 1u);
  EXPECT_EQ(summary.instructions, 2 * executed_.size());
}

TEST_F(DamageTest, BytesBeforeTheFirstPsbAreSkippedAndSaid) {
  const DecodeSummary summary = decode("the oldest" + stream_);
  EXPECT_EQ(summary.skipped_bytes, 10u);
  EXPECT_EQ(summary.gap_total, 0u);
  EXPECT_EQ(found_addresses(), executed_);
  const DecodeSummary nothing = decode("nothing at all that is a packet");
  EXPECT_EQ(nothing.gaps.at(GapReason::kBadPacket).count, 1u);
}

}  // namespace
}  // namespace fathom::snapshot

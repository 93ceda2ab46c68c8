// Which packets may be shown, against a model that knows who ran at every tick; and which rows.
#include "snapshot/record/pt/one_user.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/testing/repetitions.h"
#include "snapshot/record/testing/pt_packets.h"
#include "snapshot/record/testing/scripted_perf.h"

namespace fathom::snapshot {
namespace {

constexpr uint32_t kAnn = 1000;
constexpr uint32_t kBob = 1001;
constexpr int32_t kAnns = 42, kAnnsToo = 43, kBobs = 50, kNobodys = 60, kKernels = 70;
constexpr uint64_t kMargin = 10;

Sideband switch_in(uint64_t tsc, int32_t cpu, int32_t pid, int32_t before) {
  return {.kind = SidebandKind::kSwitchIn,
          .tsc = tsc,
          .cpu = cpu,
          .pid = pid,
          .tid = pid,
          .other_pid = before,
          .other_tid = before};
}

Sideband switch_out(uint64_t tsc, int32_t cpu, int32_t pid, int32_t next) {
  Sideband row = switch_in(tsc, cpu, pid, next);
  row.kind = SidebandKind::kSwitchOut;
  return row;
}

Sideband row_of(SidebandKind kind, uint64_t tsc, int32_t pid, const std::string& text = "") {
  return {.kind = kind, .tsc = tsc, .cpu = 0, .pid = pid, .tid = pid, .text = text};
}

class OneUserTest : public testing::Test {
 protected:
  void SetUp() override {
    system_.set_owner(kAnns, kAnn);
    system_.set_owner(kAnnsToo, kAnn);
    system_.set_owner(kBobs, kBob);
    system_.set_owner(kKernels, 0);
    system_.put_file("/proc/70/stat", "70 (kworker/0:1) I 2 0 0 0 -1 69238880 0 0\n");
    for (const int32_t pid : {kAnns, kAnnsToo, kBobs, kNobodys, kKernels}) owners_.scan(pid);
  }
  OneUser ann(uint64_t since_tsc = 0, bool kernel = false) const { return {owners_, kAnn, since_tsc, kernel}; }

  ScriptedPerf system_;
  ProcessOwners owners_{system_};
};

TEST_F(OneUserTest, TheTimesOfOthersAreHidden) {
  const std::vector<Sideband> rows = {switch_in(100, 0, kAnns, kBobs),    switch_in(200, 0, kBobs, kAnns),
                                      switch_in(300, 0, kKernels, kBobs), switch_in(400, 0, 0, kKernels),
                                      switch_in(500, 0, kNobodys, 0),     switch_in(600, 0, kAnnsToo, kNobodys)};
  const HiddenTimes hidden = ann().hidden_times(rows, {}, 0);
  // Before the first switch nothing tells who came before the one that left.
  EXPECT_EQ(hidden.at(0), (std::vector<HiddenTime>{{0, 100, true}, {200, 300, false}, {500, 600, true}}));
  EXPECT_FALSE(hidden.contains(1));
  // The kernel's own code may be anybody's business.
  EXPECT_EQ(ann(0, true).hidden_times(rows, {}, 0).at(0).size(), 5u);
}

TEST_F(OneUserTest, TheStateTellsWhoRanUnlessRowsAreMissing) {
  const std::vector<Sideband> rows = {switch_in(0, 0, kAnns, 0), switch_in(500, 0, kBobs, kAnns)};
  EXPECT_EQ(ann().hidden_times(rows, {}, 300).at(0),
            (std::vector<HiddenTime>{{0, 300, true}, {500, UINT64_MAX, false}}));
  EXPECT_EQ(ann().hidden_times(rows, {0}, 300).at(0),
            (std::vector<HiddenTime>{{0, 500, true}, {500, UINT64_MAX, false}}));
}

TEST_F(OneUserTest, MissingSwitchesHideFromTheLastOneToTheNext) {
  Sideband lost = row_of(SidebandKind::kLost, 250, -1);
  const std::vector<HiddenTime> expected = {{0, 100, true}, {100, 300, true}};
  for (const int32_t cpu : {0, -1}) {
    lost.cpu = cpu;
    const std::vector<Sideband> rows = {switch_in(100, 0, kAnns, 0), lost, switch_in(300, 0, kAnnsToo, kAnns)};
    EXPECT_EQ(ann().hidden_times(rows, {}, 0).at(0), expected);
  }
  // Another one ran than the one that came.
  EXPECT_EQ(ann().hidden_times({switch_in(100, 0, kAnns, 0), switch_in(300, 0, kAnns, kAnnsToo)}, {}, 0).at(0),
            expected);
  EXPECT_EQ(
      ann()
          .hidden_times(
              {switch_in(100, 0, kAnns, 0), switch_out(200, 0, kAnnsToo, 0), switch_in(300, 0, kAnns, kAnnsToo)}, {}, 0)
          .at(0),
      expected);
  // A thread that ended has no number any more, which says nothing.
  EXPECT_EQ(ann().hidden_times({switch_in(100, 0, kAnns, 0), switch_in(300, 0, kAnnsToo, -1)}, {}, 0).at(0).size(), 1u);
}

TEST_F(OneUserTest, RowsOfOthersAreRemovedWithTheirNumbers) {
  Sideband fork = row_of(SidebandKind::kFork, 20, kAnns);
  fork.other_pid = fork.other_tid = kBobs;
  Sideband kernel = row_of(SidebandKind::kMap, 0, -1);
  kernel.flags = kFlagKernel;
  std::vector<Sideband> rows = {kernel,
                                row_of(SidebandKind::kName, 0, kAnns, "shop"),
                                row_of(SidebandKind::kName, 0, kBobs, "bobs"),
                                row_of(SidebandKind::kMap, 10, kNobodys),
                                fork,
                                switch_in(100, 0, kAnns, kBobs),
                                switch_out(200, 0, kAnns, kBobs),
                                switch_in(201, 0, kBobs, kAnns),
                                switch_out(300, 0, kBobs, kNobodys),
                                switch_in(301, 0, kNobodys, kBobs),
                                row_of(SidebandKind::kLost, 350, kBobs),
                                switch_in(400, 0, kAnns, kNobodys)};
  EXPECT_EQ(ann().remove_others(rows), 2u);
  ASSERT_EQ(rows.size(), 8u);
  for (const Sideband& row : rows) {
    for (const int32_t number : {row.pid, row.tid, row.other_pid, row.other_tid})
      EXPECT_TRUE(number == kAnns || number <= 0) << number;
  }
  // Once that somebody else follows.
  EXPECT_EQ(rows[5].pid, 0);
  EXPECT_EQ(rows[5].tsc, 201u);
  EXPECT_EQ(rows[6].kind, SidebandKind::kLost);
  EXPECT_EQ(rows[7].tsc, 400u);
}

TEST(ShownPackets, RunFromOneSynchronisationPointToAnother) {
  const auto bytes_of = [](const std::string& text) {
    return std::span(reinterpret_cast<const uint8_t*>(text.data()), text.size());
  };
  const std::string chunk(100, 'p');
  const uint64_t size = psb_header(0).size() + chunk.size();
  const std::string packets = psb_header(100) + chunk + psb_header(200) + chunk + psb_header(300) + chunk;
  const std::vector<HiddenTime> early = {{0, 150, true}};
  EXPECT_EQ(shown_packets(bytes_of(packets), early, 400, 10).ranges, (std::vector<PacketRange>{{size, 3 * size}}));
  const std::vector<HiddenTime> middle = {{0, 50, true}, {215, 280, false}};
  const ShownPackets shown = shown_packets(bytes_of(packets), middle, 400, 10);
  EXPECT_EQ(shown.ranges, (std::vector<PacketRange>{{0, size}, {2 * size, 3 * size}}));
  EXPECT_EQ(shown.others_bytes, size);
  EXPECT_EQ(shown.bytes(), 2 * size);
  // With the margin, both neighbours are touched too.
  EXPECT_EQ(shown_packets(bytes_of(packets), middle, 400, 20).ranges.size(), 0u);
  // Without a time, neither it nor the one before.
  const std::string timeless =
      psb_header(100) + chunk + psb_packet() + psbend_packet() + chunk + psb_header(300) + chunk;
  EXPECT_EQ(shown_packets(bytes_of(timeless), {}, 400, 10).ranges.size(), 1u);
  EXPECT_EQ(shown_packets(bytes_of(timeless), {}, 400, 10).unknown_bytes, timeless.size() - size);
  // Where the counter runs backwards, nothing.
  const std::string backwards = psb_header(300) + chunk + psb_header(200) + chunk;
  EXPECT_EQ(shown_packets(bytes_of(backwards), {}, 400, 10).ranges, (std::vector<PacketRange>{{size, 2 * size}}));
  EXPECT_EQ(shown_packets(bytes_of(chunk), {}, 400, 10).unknown_bytes, chunk.size());
}

TEST(ShownPackets, TimesAreWholeWhenTheCounterIsLarge) {
  constexpr uint64_t kLong = uint64_t{3} << 56;
  const std::string packets = psb_header(100) + psb_header(200);
  const std::span bytes(reinterpret_cast<const uint8_t*>(packets.data()), packets.size());
  const std::vector<HiddenTime> hidden = {{0, kLong + 150, false}};
  const uint64_t size = psb_header(0).size();
  EXPECT_EQ(shown_packets(bytes, hidden, kLong + 400, 10).ranges, (std::vector<PacketRange>{{size, 2 * size}}));
}

// A CPU whose threads come and go; some switches are lost. Every chunk has the ticks in which it was written.
class ShownPacketsModel {
 public:
  explicit ShownPacketsModel(uint32_t seed) : random_(seed) {}

  void run(const OneUser& user) {
    while (tsc_ < 20'000) step();
    if (is_others(running_)) others_.push_back({tsc_, UINT64_MAX});
    rows_.push_back(switch_in(0, 0, running_, 0));  // does not count: its CPU is unsure
    if (lost_) {
      rows_.push_back(row_of(SidebandKind::kLost, tsc_, -1));
      unknown_.push_back({known_until_, UINT64_MAX});
    }
    std::ranges::stable_sort(rows_, {}, &Sideband::tsc);
    const HiddenTimes hidden = user.hidden_times(rows_, {0}, 0);
    const std::vector<HiddenTime> all(1);
    const ShownPackets shown = shown_packets({reinterpret_cast<const uint8_t*>(packets_.data()), packets_.size()},
                                             hidden.contains(0) ? hidden.at(0) : all, tsc_, kMargin);
    chunks_.back().end = tsc_;
    for (const auto& chunk : chunks_) {
      const bool is_shown = std::ranges::any_of(
          shown.ranges, [&](const PacketRange& range) { return range.begin <= chunk.at && chunk.at < range.end; });
      ASSERT_FALSE(is_shown && touches(others_, chunk.begin, chunk.end)) << "from " << chunk.begin;
      const bool is_clear =
          !touches(others_, chunk.begin - std::min(chunk.begin, 2 * kMargin), chunk.end + 2 * kMargin) &&
          !touches(unknown_, chunk.begin - std::min(chunk.begin, 2 * kMargin), chunk.end + 2 * kMargin);
      ASSERT_TRUE(is_shown || !is_clear) << "from " << chunk.begin;
      shown_ += is_shown ? 1 : 0;
    }
  }
  uint64_t shown() const { return shown_; }

 private:
  struct Chunk {
    uint64_t at;
    uint64_t begin;
    uint64_t end;
  };
  using Times = std::vector<std::pair<uint64_t, uint64_t>>;

  static bool touches(const Times& times, uint64_t begin, uint64_t end) {
    return std::ranges::any_of(times, [&](const auto& time) { return time.first <= end && begin <= time.second; });
  }
  static bool is_others(int32_t pid) { return pid == kBobs || pid == kNobodys; }
  void step() {
    const uint64_t from = tsc_;
    const uint64_t until = tsc_ + 1 + random_() % 300;
    while (tsc_ < until) {
      put_chunk();
      tsc_ += 1 + random_() % 60;
    }
    if (is_others(running_)) others_.push_back({from, tsc_});
    switch_to_next();
  }
  void put_chunk() {
    if (!chunks_.empty()) chunks_.back().end = tsc_;
    chunks_.push_back({packets_.size(), tsc_, tsc_});
    packets_ += psb_header(tsc_) + std::string(random_() % 50, 'p');
  }
  void switch_to_next() {
    static constexpr int32_t kAll[] = {kAnns, kAnns, kAnns, kAnnsToo, 0, kKernels, kBobs, kNobodys};
    const int32_t next = kAll[random_() % std::size(kAll)];
    // The row's clock is a little beside the packets'.
    const uint64_t row_tsc = last_row_tsc_ = std::max(last_row_tsc_, tsc_ + random_() % kMargin);
    const bool is_lost = random_() % 16 == 0;
    if (!is_lost) {
      if (random_() % 2 == 0) rows_.push_back(switch_out(row_tsc, 0, running_, next));
      if (lost_) rows_.push_back(row_of(SidebandKind::kLost, row_tsc, -1));
      if (lost_) unknown_.push_back({known_until_, tsc_ + kMargin});
      rows_.push_back(switch_in(row_tsc, 0, next, running_));
      lost_ = false;
      known_until_ = tsc_;
    }
    lost_ = lost_ || is_lost;
    running_ = next;
  }

  std::mt19937 random_;
  uint64_t tsc_ = 1000;
  int32_t running_ = kAnns;
  bool lost_ = true;
  uint64_t known_until_ = 0;
  uint64_t last_row_tsc_ = 0;
  std::string packets_;
  std::vector<Chunk> chunks_;
  std::vector<Sideband> rows_;
  Times others_;
  Times unknown_;
  uint64_t shown_ = 0;
};

TEST_F(OneUserTest, WhatIsShownIsNobodyElses) {
  uint64_t shown = 0;
  for (uint32_t seed = 1; seed <= repetitions(200); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    ShownPacketsModel model(seed);
    model.run(ann());
    if (HasFatalFailure()) return;
    shown += model.shown();
  }
  EXPECT_GT(shown, 1000u);
}

}  // namespace
}  // namespace fathom::snapshot

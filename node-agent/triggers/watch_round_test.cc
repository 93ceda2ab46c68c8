#include "node-agent/triggers/watch_round.h"

#include <gtest/gtest.h>

#include <random>

#include "node-agent/testing/nano.h"
#include "node-agent/testing/scripted_pool.h"

namespace fathom::agent {
namespace {

using testing::kMilli;
using testing::ScriptedPool;

// A host whose time the test sets.
struct SetClock : ClockSource {
  ClockReading read() override { return {now * 2, now, now, now}; }
  uint64_t now = 1'000'000 * kMilli;
};

struct TriggerRecorder : TriggerSink {
  bool overdue(const std::shared_ptr<const WatchedProgram>& program, std::vector<OverdueSpan> found) override {
    for (OverdueSpan& span : found) spans.push_back(span);
    programs.push_back(program->serial);
    return true;
  }
  bool asked(const std::shared_ptr<const WatchedProgram>&, std::vector<ProgramTrigger> found) override {
    for (ProgramTrigger& trigger : found) triggers.push_back(trigger.reason);
    return true;
  }
  void missed(uint64_t count) override { lost += count; }

  std::vector<OverdueSpan> spans;
  std::vector<uint32_t> programs;
  std::vector<std::string> triggers;
  uint64_t lost = 0;
};

class WatchRoundTest : public ::testing::Test {
 protected:
  WatchRoundTest() {
    threshold("work", 100 * kMilli);
    watch(pool_, 1);
    pass(5 * kMilli);
  }
  void threshold(const std::string& name, uint64_t nano) {
    round_.set_thresholds(book_.take({{"", "scripted", name, 1, nano}}, false));
  }
  static std::shared_ptr<const WatchedProgram> program_of(ScriptedPool& pool, uint32_t serial, uid_t uid = 1,
                                                          const std::string& service = "scripted") {
    Result<PoolFile> file = PoolFile::open(pool.descriptor(), 0);
    WatchedProgram program{.serial = serial, .uid = uid, .clock = pool.header().clock, .service = service};
    program.open = *OpenArea::map(*file);
    return std::make_shared<const WatchedProgram>(program);
  }
  void watch(ScriptedPool& pool, uint32_t serial, uid_t uid = 1, const std::string& service = "scripted") {
    round_.set(program_of(pool, serial, uid, service));
  }
  // Sleeps as the thread does.
  void pass(uint64_t nano) { pass(round_, nano); }
  void pass(WatchRound& round, uint64_t nano) {
    uint64_t end = clock_.now + nano;
    while (clock_.now < end) {
      uint64_t next = round.step();
      ++steps_;
      ASSERT_GT(next, clock_.now) << "it would not sleep";
      clock_.now = std::min(next, end);
    }
    round.step();
  }
  uint64_t ticks() const { return clock_.now * 2; }

  ScriptedPool pool_{1, pool::Clock::kTsc, -1, 64};
  SetClock clock_;
  TriggerRecorder sink_;
  ThresholdBook book_{kNever};
  WatchRound round_{clock_, sink_, [this] { return clock_.now; }};
  uint64_t steps_ = 0;
};

TEST_F(WatchRoundTest, ASpanIsOverdueWhenItsThresholdPasses) {
  uint64_t began = clock_.now;
  pool_.begin_span(0, 10, "work", ticks(), 77);
  pass(99 * kMilli);
  EXPECT_TRUE(sink_.spans.empty());
  pass(1 * kMilli);
  ASSERT_EQ(sink_.spans.size(), 1u);
  EXPECT_EQ(sink_.spans[0].span.name(), "work");
  EXPECT_EQ(sink_.spans[0].tid, 77u);
  EXPECT_NEAR(static_cast<double>(sink_.spans[0].start_nano), static_cast<double>(began), 1000);
  EXPECT_EQ(sink_.spans[0].threshold_nano, 100 * kMilli);
  pass(1000 * kMilli);
  EXPECT_EQ(sink_.spans.size(), 1u) << "once";
}

TEST_F(WatchRoundTest, ItWakesForTheDeadlineItself) {
  clock_.now += 300'000;
  pool_.begin_span(0, 10, "work", ticks());
  uint64_t due = clock_.now + 100 * kMilli;
  while (sink_.spans.empty()) clock_.now = round_.step();
  uint64_t next = clock_.now;
  EXPECT_LT(steps_ + next - due, due) << "not seen at all";
  // step() was called at the deadline, and said afterwards when to call again.
  EXPECT_LE(next - due, WatchPace().longest_nano);
}

TEST_F(WatchRoundTest, SpansThatEndInTimeAreNot) {
  for (int i = 0; i < 20; ++i) {
    pool_.begin_span(0, static_cast<uint64_t>(i), "work", ticks());
    pass(90 * kMilli);
    pool_.end_span(0);
    pass(3 * kMilli);
  }
  EXPECT_TRUE(sink_.spans.empty());
}

TEST_F(WatchRoundTest, OuterSpansAreWatchedWhileInnerOnesChange) {
  pool_.begin_span(0, 1, "work", ticks());
  for (int i = 0; i < 60; ++i) {
    pool_.begin_span(0, static_cast<uint64_t>(100 + i), "inner", ticks());
    pass(2 * kMilli);
    pool_.end_span(0);
  }
  ASSERT_EQ(sink_.spans.size(), 1u);
  EXPECT_EQ(sink_.spans[0].span.name(), "work");
}

TEST_F(WatchRoundTest, OthersHaveNoThreshold) {
  pool_.begin_span(0, 1, "other", ticks());
  ScriptedPool pool{1, pool::Clock::kTsc, -1, 8};
  watch(pool, 2, 1, "another service");
  pool.begin_span(0, 2, "work", ticks());
  pass(10'000 * kMilli);
  EXPECT_TRUE(sink_.spans.empty());
}

TEST_F(WatchRoundTest, ThresholdsThatComeLaterCountForWhatIsOpen) {
  pool_.begin_span(0, 1, "other", ticks());
  pool_.begin_span(0, 2, "work", ticks());
  pass(150 * kMilli);
  EXPECT_EQ(sink_.spans.size(), 1u);
  threshold("other", 200 * kMilli);
  pass(49 * kMilli);
  EXPECT_EQ(sink_.spans.size(), 1u) << "what was found is not found again";
  pass(2 * kMilli);
  ASSERT_EQ(sink_.spans.size(), 2u);
  EXPECT_EQ(sink_.spans[1].span.name(), "other");
}

TEST_F(WatchRoundTest, ThePaceBoundsTheVisits) {
  constexpr uint64_t kPaceNano = 16 * kMilli;
  WatchRound slow(clock_, sink_, [this] { return clock_.now; }, {.shortest_nano = kPaceNano});
  slow.set_thresholds(book_.take({{"", "scripted", "quick", 1, 100'000}}, false));
  slow.set(program_of(pool_, 1));
  for (uint64_t end = clock_.now + 50 * kMilli; clock_.now < end;) clock_.now = slow.step();
  uint64_t visits = 0;
  for (uint64_t end = clock_.now + 10 * kPaceNano; clock_.now < end; ++visits) clock_.now = slow.step();
  EXPECT_LE(visits, 11u) << "although the threshold is shorter";
  pool_.begin_span(3, 1, "quick", ticks());
  const uint64_t began = clock_.now;
  while (sink_.spans.empty() && clock_.now < began + 100 * kMilli) clock_.now = slow.step();
  ASSERT_EQ(sink_.spans.size(), 1u);
  EXPECT_LE(clock_.now - began, 2 * kPaceNano);
}

TEST_F(WatchRoundTest, ShortThresholdsAreSeenInAMillisecond) {
  threshold("quick", 100'000);
  pass(50 * kMilli);
  pool_.begin_span(3, 1, "quick", ticks());
  uint64_t began = clock_.now;
  while (sink_.spans.empty() && clock_.now < began + 100 * kMilli)
    clock_.now = std::min(round_.step(), clock_.now + kMilli);
  ASSERT_EQ(sink_.spans.size(), 1u);
  EXPECT_LE(clock_.now - began, 3 * kMilli);
}

TEST_F(WatchRoundTest, ThreadsThatComeAreSeen) {
  for (uint32_t slot = 0; slot < 64; ++slot) pool_.begin_span(slot, slot, "work", ticks());
  pass(101 * kMilli);
  EXPECT_EQ(sink_.spans.size(), 64u);
}

TEST_F(WatchRoundTest, ASlotFarBehindIsFound) {
  pool_.begin_span(0, 1, "work", ticks());
  pool_.begin_span(39, 2, "work", ticks());
  pass(110 * kMilli);
  EXPECT_EQ(sink_.spans.size(), 2u);
}

TEST_F(WatchRoundTest, TriggersOfProgramsArePassedOnOnce) {
  pool_.trigger("mine", 1, ticks());
  pass(40 * kMilli);
  EXPECT_EQ(sink_.triggers, (std::vector<std::string>{"mine"}));
  for (int i = 0; i < 33; ++i) pool_.trigger("more", 1, ticks());
  pass(200 * kMilli);
  EXPECT_EQ(sink_.triggers.size(), 32u);
  EXPECT_EQ(sink_.lost, 2u);
}

TEST_F(WatchRoundTest, FurtherTriggersOfAProgramAreSeenSoonWhateverThePace) {
  WatchRound slow(clock_, sink_, [this] { return clock_.now; }, {.shortest_nano = 16 * kMilli});
  slow.set(program_of(pool_, 1));
  pool_.trigger("first", 1, ticks());
  pass(slow, WatchPace().longest_nano);
  ASSERT_EQ(sink_.triggers.size(), 1u);
  for (size_t i = 1; i <= 10; ++i) {
    pass(slow, 7 * kMilli / 3);
    pool_.trigger("further", 1, ticks());
    pass(slow, 4 * kMilli);
    EXPECT_EQ(sink_.triggers.size(), i + 1);
  }
}

TEST_F(WatchRoundTest, TriggersOfLongAgoWereForAPredecessor) {
  ScriptedPool pool{1, pool::Clock::kTsc, -1, 8};
  pool.trigger("old", 1, ticks() - 2 * 6000 * kMilli);
  pool.trigger("new", 1, ticks() - 2 * 1000 * kMilli);
  watch(pool, 2);
  pass(40 * kMilli);
  EXPECT_EQ(sink_.triggers, (std::vector<std::string>{"new"}));
}

TEST_F(WatchRoundTest, WhatAProgramTriggeredLastIsSeenWhenItIsOver) {
  pool_.trigger("seen already", 1, ticks());
  pass(40 * kMilli);
  pool_.trigger("last", 1, ticks());
  round_.look_last(program_of(pool_, 1));
  EXPECT_EQ(sink_.triggers, (std::vector<std::string>{"seen already", "last"}));
  ScriptedPool short_lived{1, pool::Clock::kTsc, -1, 64};
  short_lived.trigger("first and last", 1, ticks());
  round_.look_last(program_of(short_lived, 2));
  EXPECT_EQ(sink_.triggers.back(), "first and last") << "of one that was over before it was watched";
  round_.remove(1);
  round_.remove(2);
  pass(1000 * kMilli);
  EXPECT_EQ(sink_.triggers.size(), 3u);
  EXPECT_EQ(sink_.lost, 0u);
}

// A new agent inherits what a dead program left, before it knows how fast ticks go.
TEST_F(WatchRoundTest, WhatAProgramTriggeredLastWaitsForTheClock) {
  ScriptedPool pool{1, pool::Clock::kTsc, -1, 8};
  pool.trigger("old", 1, ticks() - 2 * 6000 * kMilli);
  pool.trigger("new", 1, ticks() - 2 * 1000 * kMilli);
  for (bool is_removed : {false, true}) {
    WatchRound round{clock_, sink_, [this] { return clock_.now; }};
    round.look_last(program_of(pool, 2));
    EXPECT_TRUE(sink_.triggers.empty());
    if (is_removed) round.remove(2);
    for (uint64_t end = clock_.now + 100 * kMilli; clock_.now < end;) clock_.now = round.step();
    EXPECT_EQ(std::exchange(sink_.triggers, {}), (std::vector<std::string>{"new"}));
  }
}

TEST_F(WatchRoundTest, ProgramsThatAreGoneAreNotLookedAt) {
  pool_.begin_span(0, 1, "work", ticks());
  pass(50 * kMilli);
  round_.remove(1);
  pass(500 * kMilli);
  EXPECT_TRUE(sink_.spans.empty());
}

TEST_F(WatchRoundTest, IdleProgramsCostFewVisits) {
  steps_ = 0;
  pass(1600 * kMilli);
  EXPECT_LE(steps_, 110u);
}

// A program whose memory changes at random, beside one in order: the latter's spans are found in time.
TEST_F(WatchRoundTest, AWildProgramIsOnlyWild) {
  ScriptedPool wild{1, pool::Clock::kTsc, -1, pool::kMostThreadSlots};
  watch(wild, 2);
  std::mt19937_64 random(3);
  auto* words = reinterpret_cast<std::atomic<uint64_t>*>(&wild.triggers());
  size_t count = pool::open_area_bytes(pool::kMostThreadSlots) / sizeof(uint64_t);
  for (uint64_t number = 1; number < 30; ++number) {
    pool_.begin_span(0, number, "work", ticks());
    for (int i = 0; i < 12; ++i) {
      for (int word = 0; word < 5000; ++word) words[random() % count].store(random() >> (random() % 64));
      pass(9 * kMilli);
    }
    pool_.end_span(0);
    uint64_t found = static_cast<uint64_t>(std::count(sink_.programs.begin(), sink_.programs.end(), 1u));
    ASSERT_EQ(found, number);
  }
}

TEST(CpuShare, DebtsArePaidByTime) {
  CpuShare share(4, 1000);
  EXPECT_TRUE(share.may_spend(1'000'000));
  share.spend(1'000'000, 3000);
  EXPECT_FALSE(share.may_spend(1'000'000));
  EXPECT_EQ(share.again_nano(1'000'000), 1'008'000u);
  EXPECT_FALSE(share.may_spend(1'007'000));
  EXPECT_TRUE(share.may_spend(1'008'000));
}

}  // namespace
}  // namespace fathom::agent

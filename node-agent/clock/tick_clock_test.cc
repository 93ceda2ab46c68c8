#include "node-agent/clock/tick_clock.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include "node-agent/testing/scripted_host.h"

namespace fathom::agent {
namespace {

using pool::Clock;

using testing::kMilli;
using testing::kSecond;
using testing::run;
using testing::ScriptedHost;

::testing::AssertionResult near(uint64_t got, uint64_t want, uint64_t most) {
  int64_t off = static_cast<int64_t>(got - want);
  if (static_cast<uint64_t>(std::llabs(off)) <= most) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << got << " is off " << want << " by " << off << " ns";
}

TEST(TickClock, IsReadyWithTheSecondReading) {
  ScriptedHost host;
  TickClock clock(host);
  EXPECT_FALSE(clock.ready());
  host.pass(50 * kMilli);
  clock.update();
  EXPECT_TRUE(clock.ready());
  EXPECT_TRUE(near(clock.unix_nano(Clock::kTsc, host.ticks()), host.real(), 2));
}

TEST(TickClock, FindsInstantsBetweenAndBeyondReadings) {
  ScriptedHost host;
  uint64_t before_ticks = host.ticks();
  uint64_t before_real = host.real();
  host.pass(600 * kSecond);  // an older program
  TickClock clock(host);
  run(host, clock, 10 * kSecond);
  host.pass(20 * kMilli);
  uint64_t ticks = host.ticks();
  uint64_t real = host.real();
  EXPECT_TRUE(near(clock.unix_nano(Clock::kTsc, ticks), real, 5)) << "beyond the last reading";
  run(host, clock, 5 * kSecond);
  EXPECT_TRUE(near(clock.unix_nano(Clock::kTsc, ticks), real, 5)) << "between two";
  EXPECT_TRUE(near(clock.unix_nano(Clock::kTsc, before_ticks), before_real, 100)) << "before the first";
}

TEST(TickClock, FollowsACounterThatIsSlewed) {
  ScriptedHost host;
  TickClock clock(host);
  std::vector<std::pair<uint64_t, uint64_t>> instants;
  for (int i = 0; i < 100; ++i) {
    host.ghz = 2.3L * (1 + 200e-6L * (i % 7) / 7);  // up to 200 parts per million
    run(host, clock, kSecond);
    EXPECT_TRUE(near(clock.unix_nano(Clock::kTsc, host.ticks()), host.real(), 2));
    instants.emplace_back(host.ticks(), host.real());
  }
  // Within the second in which the rate changed by 200 millionths it is a straight line: a quarter of that at most.
  for (auto [ticks, real] : instants) EXPECT_TRUE(near(clock.unix_nano(Clock::kTsc, ticks), real, 50'000));
}

TEST(TickClock, StepsOfTheCalendarMoveAllSpansAlike) {
  ScriptedHost host;
  TickClock clock(host);
  run(host, clock, 3 * kSecond);
  uint64_t ticks = host.ticks();
  uint64_t real = host.real();
  uint64_t began = host.monotonic();
  host.pass(10 * kMilli);
  host.step(-3600 * static_cast<int64_t>(kSecond));
  run(host, clock, 2 * kSecond);
  // The old span is told in the new time, as is the collector's offset that is measured now.
  EXPECT_TRUE(near(clock.unix_nano(Clock::kTsc, ticks), real - 3600 * kSecond, 5));
  EXPECT_TRUE(near(clock.unix_nano(Clock::kMonotonic, began), real - 3600 * kSecond, 5));
  uint64_t duration = clock.monotonic_nano(Clock::kTsc, host.ticks()) - clock.monotonic_nano(Clock::kTsc, ticks);
  EXPECT_TRUE(near(duration, host.monotonic() - began, 5)) << "no duration knows of the step";
}

TEST(TickClock, NoiseOfReadingMovesNothing) {
  ScriptedHost host;
  TickClock clock(host);
  run(host, clock, 2 * kSecond);
  uint64_t ticks = host.ticks();
  uint64_t first = clock.unix_nano(Clock::kTsc, ticks);
  for (int64_t noise : {300, -250, 400, -450}) {
    host.step(noise);
    run(host, clock, 2 * kSecond);
    EXPECT_TRUE(near(clock.unix_nano(Clock::kTsc, ticks), first, 1));
  }
}

class Sleep : public ::testing::TestWithParam<bool> {};

TEST_P(Sleep, SpansOnBothSidesKeepTheirPlace) {
  ScriptedHost host;
  TickClock clock(host);
  run(host, clock, 5 * kSecond);
  host.pass(20 * kMilli);
  uint64_t before_ticks = host.ticks();
  uint64_t before_real = host.real();
  uint64_t before_monotonic = host.monotonic();
  host.pass(5 * kMilli);
  host.sleep(7200 * kSecond, GetParam());
  host.pass(5 * kMilli);
  uint64_t after_ticks = host.ticks();
  uint64_t after_real = host.real();
  run(host, clock, 5 * kSecond);
  // Of the 50 ms around the sleep it is not known which part came before it when the counter stood still.
  uint64_t most = GetParam() ? 100 : 50 * kMilli;
  EXPECT_TRUE(near(clock.unix_nano(Clock::kTsc, before_ticks), before_real, most));
  EXPECT_TRUE(near(clock.unix_nano(Clock::kMonotonic, before_monotonic), before_real, 5));
  if (GetParam()) {
    EXPECT_TRUE(near(clock.unix_nano(Clock::kTsc, after_ticks), after_real, most));
  }
  EXPECT_TRUE(near(clock.unix_nano(Clock::kTsc, host.ticks()), host.real(), 5));
  uint64_t duration = clock.monotonic_nano(Clock::kTsc, host.ticks()) - clock.monotonic_nano(Clock::kTsc, before_ticks);
  EXPECT_TRUE(near(duration, host.monotonic() - before_monotonic, most)) << "sleep is not part of a duration";
}
INSTANTIATE_TEST_SUITE_P(CounterGoesOn, Sleep, ::testing::Bool());

TEST(TickClock, ACounterThatBeginsAnewIsANewEpoch) {
  ScriptedHost host;
  TickClock clock(host);
  run(host, clock, 5 * kSecond);
  uint64_t old_ticks = host.ticks();
  uint64_t old_real = host.real();
  host.pass(10 * kMilli);
  host.sleep(60 * kSecond, false);
  host.reset_counter(1000);
  run(host, clock, 5 * kSecond);
  EXPECT_TRUE(near(clock.unix_nano(Clock::kTsc, host.ticks()), host.real(), 5));
  // 5e12 ticks are beyond all that the new counter has counted: they could be of its future only.
  uint64_t got = clock.unix_nano(Clock::kTsc, old_ticks);
  EXPECT_FALSE(near(got, old_real, kSecond)) << "told apart by luck";
  EXPECT_TRUE(near(clock.unix_nano(Clock::kTsc, 2000), host.real() - 5 * kSecond, 60 * kMilli));
}

TEST(TickClock, OneTickAlwaysGivesOneOrder) {
  std::mt19937_64 random(7);
  ScriptedHost host;
  TickClock clock(host);
  run(host, clock, 20 * kSecond);
  uint64_t first = host.ticks() - static_cast<uint64_t>(25e9 * 2.3);
  uint64_t at = first;
  uint64_t last = 0;
  while (at < host.ticks() + 1'000'000) {
    uint64_t nano = clock.monotonic_nano(Clock::kTsc, at);
    EXPECT_GE(nano, last);
    last = nano;
    at += random() % 100'000'000;
  }
}

TEST(TickClock, DaysCostBoundedMemoryAndStayExact) {
  ScriptedHost host;
  TickClock clock(host);
  std::vector<std::pair<uint64_t, uint64_t>> instants;
  for (int i = 0; i < 50'000; ++i) {
    host.pass(kSecond);
    clock.update();
    if (i % 5000 == 0) host.sleep(100 * kSecond, true), host.pass(kSecond), clock.update();
    if (i % 1000 == 500) instants.emplace_back(host.ticks(), host.real());
  }
  EXPECT_LE(clock.readings(), 4096u);
  for (auto [ticks, real] : instants) EXPECT_TRUE(near(clock.unix_nano(Clock::kTsc, ticks), real, 1000));
}

TEST(TickClock, AHostThatAlwaysSleepsCostsBoundedMemory) {
  ScriptedHost host;
  TickClock clock(host);
  for (int i = 0; i < 20'000; ++i) {
    host.pass(kSecond);
    host.sleep(kSecond, i % 2 == 0);
    clock.update();
  }
  EXPECT_LE(clock.readings(), 4097u);
  EXPECT_TRUE(near(clock.unix_nano(Clock::kTsc, host.ticks()), host.real(), 5));
}

TEST(TickClock, WildTicksAreOnlyWild) {
  ScriptedHost host;
  TickClock clock(host);
  run(host, clock, 2 * kSecond);
  std::mt19937_64 random(11);
  for (int i = 0; i < 100'000; ++i) {
    uint64_t ticks = random() >> (random() % 64);
    clock.unix_nano(Clock::kTsc, ticks);
    clock.unix_nano(Clock::kMonotonic, ticks);
  }
  for (uint64_t ticks : {uint64_t{0}, UINT64_MAX}) clock.unix_nano(Clock::kTsc, ticks);
}

// ---- for captures

bool crosses(const ScriptedHost& host, const TickClock& clock, uint64_t back_nano) {
  return clock.times().crosses_jump(host.monotonic() - back_nano, host.monotonic());
}

capture::Capture with_anchors(const TickClock& clock, uint64_t begin_nano, uint64_t end_nano) {
  capture::Capture capture{.begin_nano = begin_nano, .end_nano = end_nano};
  capture.anchors = clock.times().anchors(begin_nano, end_nano);
  return capture;
}

TEST(TickTimes, FindsTheTicksOfAnInstant) {
  ScriptedHost host;
  TickClock clock(host);
  run(host, clock, 10 * kSecond);
  TickTimes times = clock.times();
  for (uint64_t back = 0; back < 20 * kSecond; back += 77 * kMilli) {
    uint64_t nano = host.monotonic() - back + kSecond;
    EXPECT_TRUE(near(times.monotonic_nano(Clock::kTsc, times.ticks_at(Clock::kTsc, nano)), nano, 2)) << back;
    EXPECT_EQ(times.ticks_at(Clock::kMonotonic, nano), nano);
  }
  EXPECT_EQ(times.ticks_at(Clock::kTsc, 0), 5e12L - 1000 * 2.3e9L);
}

TEST(TickTimes, ACopyStaysAsItWas) {
  ScriptedHost host;
  TickClock clock(host);
  run(host, clock, 3 * kSecond);
  TickTimes times = clock.times();
  uint64_t ticks = host.ticks();
  uint64_t real = times.unix_nano(Clock::kTsc, ticks);
  host.step(static_cast<int64_t>(kSecond));
  run(host, clock, 3 * kSecond);
  EXPECT_EQ(times.unix_nano(Clock::kTsc, ticks), real);
  EXPECT_TRUE(near(clock.unix_nano(Clock::kTsc, ticks), real + kSecond, 5));
}

TEST(TickTimes, AnchorsAreOnePerSecondAroundTheWindow) {
  ScriptedHost host;
  TickClock clock(host);
  run(host, clock, 20 * kSecond);
  uint64_t begin = host.monotonic() - 5 * kSecond - 300 * kMilli;
  uint64_t end = host.monotonic() - 2 * kSecond - 700 * kMilli;
  capture::Capture capture = with_anchors(clock, begin, end);
  ASSERT_GE(capture.anchors.size(), 4u);
  EXPECT_LE(capture.anchors.size(), 5u);
  EXPECT_LE(capture.anchors.front().monotonic_nano, begin);
  EXPECT_GE(capture.anchors.back().monotonic_nano, end);
  EXPECT_EQ(capture.anchors.back().epoch, 0u);
  EXPECT_FALSE(crosses_clock_jump(capture));
  EXPECT_TRUE(near(unix_nano_at(capture, begin), clock.unix_nano(Clock::kMonotonic, begin), 2));
}

TEST(TickTimes, ASleepIsCrossedByWindowsThatTouchIt) {
  for (bool counts : {false, true}) {
    ScriptedHost host;
    TickClock clock(host);
    run(host, clock, 5 * kSecond);
    host.sleep(7200 * kSecond, counts);
    run(host, clock, 3 * kSecond);
    EXPECT_FALSE(crosses(host, clock, 2 * kSecond));
    EXPECT_TRUE(crosses(host, clock, 3 * kSecond + 10 * kMilli));
    EXPECT_TRUE(crosses(host, clock, 100 * kSecond)) << "from before the first reading";
    capture::Capture capture = with_anchors(clock, host.monotonic() - 5 * kSecond, host.monotonic());
    EXPECT_TRUE(crosses_clock_jump(capture));
    EXPECT_EQ(capture.anchors.back().epoch, 1u);
    EXPECT_TRUE(near(unix_nano_at(capture, host.monotonic()), host.real(), 5));
    uint64_t before = host.monotonic() - 4 * kSecond;
    EXPECT_TRUE(near(unix_nano_at(capture, before), host.real() - 7204 * kSecond, 5));
  }
}

TEST(TickTimes, ACounterThatJumpsIsCrossedToo) {
  for (uint64_t to : {uint64_t{1000}, uint64_t{900'000'000'000'000}}) {
    ScriptedHost host;
    TickClock clock(host);
    run(host, clock, 5 * kSecond);
    host.reset_counter(to);
    run(host, clock, 3 * kSecond);
    EXPECT_FALSE(crosses(host, clock, 2 * kSecond));
    EXPECT_TRUE(crosses(host, clock, 4 * kSecond));
    // Each side's ticks are its own.
    EXPECT_TRUE(
        near(clock.times().ticks_at(Clock::kTsc, host.monotonic() - kSecond), host.ticks() - 2'300'000'000, 50));
    EXPECT_LT(clock.times().ticks_at(Clock::kTsc, host.monotonic() - 4 * kSecond), 5'100'000'000'000u);
    EXPECT_GT(clock.times().ticks_at(Clock::kTsc, host.monotonic() - 4 * kSecond), 5'000'000'000'000u);
  }
}

// All instants of a capture are told in the calendar as it is set when they are told: there is nothing to mark.
TEST(TickTimes, AStepOfTheCalendarIsNoJump) {
  ScriptedHost host;
  TickClock clock(host);
  run(host, clock, 5 * kSecond);
  host.step(-3600 * static_cast<int64_t>(kSecond));
  run(host, clock, 3 * kSecond);
  EXPECT_FALSE(crosses(host, clock, 6 * kSecond));
  capture::Capture capture = with_anchors(clock, host.monotonic() - 6 * kSecond, host.monotonic());
  EXPECT_FALSE(crosses_clock_jump(capture));
  EXPECT_TRUE(near(unix_nano_at(capture, host.monotonic() - 6 * kSecond), host.real() - 6 * kSecond, 5));
}

TEST(TickTimes, WildInstantsAreOnlyWild) {
  ScriptedHost host;
  TickClock clock(host);
  run(host, clock, 2 * kSecond);
  std::mt19937_64 random(13);
  for (int i = 0; i < 10'000; ++i) {
    uint64_t begin = random() >> (random() % 64);
    uint64_t end = random() >> (random() % 64);
    clock.times().ticks_at(Clock::kTsc, begin);
    clock.times().crosses_jump(begin, end);
    EXPECT_FALSE(clock.times().anchors(begin, end).empty());
  }
}

TEST(HostClock, ItsClocksAreOfOneInstant) {
  HostClock source;
  ClockReading first = source.read();
  ClockReading second = source.read();
  EXPECT_GE(second.monotonic_nano, first.monotonic_nano);
  EXPECT_GE(second.ticks, first.ticks);
  // Constant between steps, but for the noise of reading on a busy machine.
  EXPECT_TRUE(near(second.boot_nano - second.monotonic_nano, first.boot_nano - first.monotonic_nano, 10 * kMilli));
}

}  // namespace
}  // namespace fathom::agent

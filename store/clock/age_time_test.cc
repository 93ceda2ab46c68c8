// The age time under steps, boots and suspends of a scripted host, and against the true time in random histories.
#include "store/clock/age_time.h"

#include <gtest/gtest.h>

#include <random>

#include "base/testing/repetitions.h"
#include "store/testing/test_clocks.h"

namespace fathom::store::testing {
namespace {

constexpr uint64_t kStart = 1'795'221'000 * kNanosPerSecond;
constexpr uint64_t kDay = 24 * kNanosPerHour;
constexpr uint64_t kYear = 365 * kDay;
constexpr uint64_t kKeep = 7 * kDay;  // the default retention
constexpr uint64_t kTick = 10 * kNanosPerMinute;

int64_t ahead(uint64_t nano) {
  return static_cast<int64_t>(nano);
}
int64_t back(uint64_t nano) {
  return -static_cast<int64_t>(nano);
}

class AgeTimeTest : public ::testing::Test {
 protected:
  uint64_t now() const { return time_.at(clocks_.read().boottime_nano); }
  uint64_t stamp() const { return now(); }  // of something that is received now
  bool is_dropped(uint64_t stamp) const { return stamp < time_.cutoff(now(), kKeep); }

  // Time passes, and the server looks at the clocks meanwhile.
  void run(uint64_t nano) {
    for (uint64_t left = nano; left > 0;) {
      const uint64_t some = std::min(left, kTick);
      clocks_.advance(some);
      time_.observe(clocks_.read());
      left -= some;
    }
  }
  void step(int64_t nano) {
    clocks_.step(nano);
    time_.observe(clocks_.read());
  }
  // The process starts again; through the bytes of its state.
  void restart() {
    Result<AgeState> saved = decode_age_state(encode_age_state(time_.state()));
    ASSERT_TRUE(saved.ok());
    EXPECT_EQ(*saved, time_.state());
    const uint64_t newest = time_.state().age_nano;
    time_ = AgeTime::start(*saved, {newest, true}, clocks_.read());
    EXPECT_GE(now(), newest);
  }
  void reboot(uint64_t off_nano, int64_t step_nano = 0) {
    clocks_.reboot(off_nano);
    clocks_.step(step_nano);
    restart();
  }

  TestClocks clocks_{kStart};
  AgeTime time_ = AgeTime::start(std::nullopt, {}, clocks_.read());
};

TEST_F(AgeTimeTest, ANewDirectoryBeginsWithTheWallClock) {
  EXPECT_EQ(now(), kStart);
  EXPECT_EQ(time_.unix_of(now()), kStart);
  EXPECT_FALSE(time_.is_paused());
  run(kKeep);
  EXPECT_FALSE(is_dropped(kStart));
  run(kTick);
  EXPECT_TRUE(is_dropped(kStart));
}

TEST_F(AgeTimeTest, StepsWithinABootChangeNoAge) {
  const uint64_t first = stamp();
  for (int64_t nano : {ahead(8 * kDay), back(8 * kDay), ahead(10 * kYear), back(10 * kYear), back(50 * kYear),
                       ahead(50 * kYear), ahead(2 * kNanosPerHour), back(2 * kNanosPerHour)}) {
    step(nano);
    EXPECT_FALSE(is_dropped(first)) << nano;
    run(2 * kNanosPerHour);
    EXPECT_FALSE(is_dropped(first)) << nano;
    EXPECT_FALSE(time_.is_paused()) << nano;
    EXPECT_EQ(time_.unix_of(now()), clocks_.wall_unix_nano()) << nano;
  }
  EXPECT_EQ(time_.steps(), 8u);
  EXPECT_EQ(now(), kStart + 16 * kNanosPerHour);
  run(kKeep - 16 * kNanosPerHour);
  EXPECT_FALSE(is_dropped(first));
  run(kTick);
  EXPECT_TRUE(is_dropped(first)) << "no step makes data immortal";
}

TEST_F(AgeTimeTest, ARestartInTheSameBootContinuesExactly) {
  const uint64_t first = stamp();
  clocks_.advance(3 * kDay);  // the server does not run, or the host is suspended
  clocks_.step(ahead(8 * kDay));
  restart();
  EXPECT_EQ(now(), kStart + 3 * kDay);
  EXPECT_FALSE(time_.is_paused());
  EXPECT_FALSE(is_dropped(first));
  clocks_.step(back(11 * kDay));
  clocks_.advance(4 * kDay);
  restart();
  EXPECT_FALSE(is_dropped(first));
  clocks_.advance(kNanosPerSecond);
  restart();
  EXPECT_TRUE(is_dropped(first));
}

TEST_F(AgeTimeTest, AnOrdinaryBootCountsTheTimeOff) {
  const uint64_t first = stamp();
  reboot(5 * kNanosPerMinute);
  EXPECT_EQ(now(), kStart + 5 * kNanosPerMinute);
  EXPECT_FALSE(time_.is_paused());
  EXPECT_EQ(time_.unix_of(first), kStart);
  EXPECT_EQ(time_.unix_of(now()), clocks_.wall_unix_nano());
}

TEST_F(AgeTimeTest, AfterAWeekendOffRetentionPausesForAnHourAndThenCountsIt) {
  const uint64_t old = stamp();
  run(5 * kDay + kNanosPerHour);
  const uint64_t recent = stamp();
  reboot(2 * kDay);
  const uint64_t fresh = stamp();
  EXPECT_TRUE(time_.is_paused());
  EXPECT_FALSE(is_dropped(old));
  run(kConfirmNano - kTick);
  EXPECT_TRUE(time_.is_paused());
  EXPECT_FALSE(is_dropped(old));
  run(2 * kTick);
  EXPECT_FALSE(time_.is_paused());
  EXPECT_TRUE(is_dropped(old));
  EXPECT_FALSE(is_dropped(recent));
  for (uint64_t stamped : {old, recent, fresh}) {
    const uint64_t offset = stamped == fresh ? 2 * kDay : 0;
    EXPECT_NEAR(static_cast<double>(time_.unix_of(stamped)), static_cast<double>(stamped + offset), 1e3);
  }
  run(5 * kDay);
  EXPECT_TRUE(is_dropped(recent));
  EXPECT_FALSE(is_dropped(fresh)) << "it was received after the weekend";
  run(2 * kDay);
  EXPECT_TRUE(is_dropped(fresh));
}

TEST_F(AgeTimeTest, AHostThatBootsIn1970LosesNothing) {
  const uint64_t old = stamp();
  run(kDay);
  clocks_.reboot(3 * kNanosPerMinute);
  const uint64_t right = clocks_.wall_unix_nano();
  clocks_.set_wall(40 * kNanosPerSecond);
  restart();
  EXPECT_TRUE(time_.is_paused());
  const uint64_t early = stamp();
  EXPECT_GE(early, old) << "stamps stay in order";
  run(3 * kNanosPerHour);
  EXPECT_FALSE(is_dropped(old));
  EXPECT_FALSE(time_.is_paused()) << "what is older by its running time may go";
  clocks_.set_wall(right + 3 * kNanosPerHour);
  time_.observe(clocks_.read());
  EXPECT_FALSE(time_.is_paused());
  run(2 * kNanosPerHour);
  EXPECT_FALSE(is_dropped(old));
  EXPECT_FALSE(is_dropped(early));
  EXPECT_NEAR(static_cast<double>(time_.unix_of(old)), static_cast<double>(kStart), 1e3);
  EXPECT_NEAR(static_cast<double>(time_.unix_of(early)), static_cast<double>(right), 1e3);
  run(6 * kDay - 3 * kNanosPerHour);
  EXPECT_TRUE(is_dropped(old));
  EXPECT_FALSE(is_dropped(early));
}

TEST_F(AgeTimeTest, ADirectoryThatBeginsIn1970LosesNothing) {
  clocks_.set_wall(30 * kNanosPerSecond);
  time_ = AgeTime::start(std::nullopt, {}, clocks_.read());
  const uint64_t first = stamp();
  run(2 * kNanosPerHour);
  reboot(kNanosPerMinute, ahead(kStart));
  EXPECT_FALSE(time_.is_paused()) << "nothing was ever trusted that it could contradict";
  run(3 * kNanosPerHour);
  EXPECT_FALSE(is_dropped(first));
  EXPECT_EQ(time_.unix_of(now()), clocks_.wall_unix_nano());
  reboot(5 * kNanosPerMinute);
  EXPECT_FALSE(time_.is_paused());
  EXPECT_FALSE(is_dropped(first));
}

TEST_F(AgeTimeTest, AStepOverABootThatIsCorrectedDropsNothing) {
  for (int64_t nano : {ahead(8 * kDay), ahead(10 * kYear), back(8 * kDay), back(kStart - kNanosPerSecond)}) {
    const uint64_t first = stamp();
    reboot(kNanosPerMinute, nano);
    EXPECT_TRUE(time_.is_paused()) << nano;
    run(kConfirmNano / 2);
    step(-nano);
    EXPECT_FALSE(time_.is_paused()) << nano;
    run(3 * kConfirmNano);
    EXPECT_FALSE(is_dropped(first)) << nano;
  }
}

TEST_F(AgeTimeTest, AClockThatWasWrongForHoursAndIsCorrectedByABootDropsNothing) {
  const uint64_t first = stamp();
  reboot(kNanosPerMinute, back(8 * kDay));
  run(5 * kNanosPerHour);
  EXPECT_FALSE(time_.is_paused());
  reboot(kNanosPerMinute, ahead(8 * kDay));
  run(5 * kNanosPerHour);
  EXPECT_FALSE(is_dropped(first));
  EXPECT_EQ(time_.unix_of(now()), clocks_.wall_unix_nano());
}

TEST_F(AgeTimeTest, AStepShortlyBeforeABootIsNoTimeOff) {
  const uint64_t first = stamp();
  step(ahead(8 * kDay));
  run(kTick);
  reboot(kNanosPerMinute);
  EXPECT_FALSE(time_.is_paused());
  run(3 * kConfirmNano);
  EXPECT_FALSE(is_dropped(first));
  step(back(8 * kDay));
  run(kTick);
  reboot(kNanosPerMinute);
  run(3 * kConfirmNano);
  EXPECT_FALSE(is_dropped(first));
}

TEST_F(AgeTimeTest, AnotherStepBeginsTheHourAnew) {
  const uint64_t first = stamp();
  reboot(10 * kDay);
  for (int i = 0; i < 5; ++i) {
    run(kConfirmNano - kTick);
    EXPECT_TRUE(time_.is_paused());
    step(ahead(3 * kNanosPerHour));
  }
  EXPECT_FALSE(is_dropped(first));
  run(kConfirmNano);
  EXPECT_FALSE(time_.is_paused());
  EXPECT_TRUE(is_dropped(first));
}

// The clock says one and a half hours, then ten days: the lesser counts, until running time has done the rest.
TEST_F(AgeTimeTest, OfSeveralTimesOffTheShortestCounts) {
  const uint64_t first = stamp();
  reboot(90 * kNanosPerMinute);
  step(ahead(10 * kDay));
  run(2 * kConfirmNano);
  EXPECT_FALSE(is_dropped(first));
  run(kKeep - 2 * kNanosPerHour);
  EXPECT_TRUE(is_dropped(first));
}

TEST_F(AgeTimeTest, BootsThatNeverRunForAnHourStillDropByRunningTime) {
  const uint64_t first = stamp();
  uint64_t ran = 0;
  while (!is_dropped(first)) {
    ASSERT_LE(ran, kKeep + 2 * kConfirmNano);
    reboot(23 * kNanosPerHour);
    run(kNanosPerHour / 2);
    ran += kNanosPerHour / 2;
  }
  EXPECT_GE(ran, kKeep);
}

TEST_F(AgeTimeTest, TheOperatorConfirmsAtOnce) {
  const uint64_t first = stamp();
  reboot(8 * kDay);
  const uint64_t fresh = stamp();
  time_.accept();
  EXPECT_FALSE(time_.is_paused());
  EXPECT_TRUE(is_dropped(first));
  EXPECT_FALSE(is_dropped(fresh));
  reboot(kNanosPerMinute, back(kYear / 2));
  EXPECT_TRUE(time_.is_paused());
  time_.accept();
  EXPECT_FALSE(time_.is_paused());
  reboot(kNanosPerMinute);
  EXPECT_FALSE(time_.is_paused()) << "the lower offset is trusted, too";
}

// The next boot, with the right clock, would count the years since 1970 as time off.
TEST_F(AgeTimeTest, TheOperatorCannotConfirmAClockOf1970) {
  const uint64_t first = stamp();
  reboot(kNanosPerMinute, back(kStart - kDay));
  EXPECT_FALSE(time_.accept());
  EXPECT_TRUE(time_.is_paused());
  reboot(kNanosPerMinute, ahead(kStart - kDay));
  run(2 * kConfirmNano);
  EXPECT_FALSE(is_dropped(first));
}

TEST_F(AgeTimeTest, AnotherHostCountsAsAnotherBoot) {
  const uint64_t first = stamp();
  clocks_.reboot(10 * kNanosPerMinute, 300 * kDay);  // it has run for long already
  restart();
  EXPECT_FALSE(time_.is_paused());
  EXPECT_EQ(now(), kStart + 10 * kNanosPerMinute);
  EXPECT_FALSE(is_dropped(first));
  ClockReading unknown = clocks_.read();
  unknown.boot_id.clear();
  AgeTime without = AgeTime::start(time_.state(), {}, unknown);
  EXPECT_EQ(without.at(unknown.boottime_nano), now()) << "a boot id that cannot be read is another boot";
}

TEST_F(AgeTimeTest, ABootTimeThatGoesBackIsAnotherBoot) {
  AgeState saved = time_.state();
  saved.boottime_nano += kDay;
  time_ = AgeTime::start(saved, {}, clocks_.read());
  EXPECT_EQ(now(), kStart);
}

TEST_F(AgeTimeTest, AnOlderDirectoryIsJudgedByItsNewestStamp) {
  const AgeWitness witness{kStart, true};
  clocks_.advance(10 * kNanosPerMinute);
  time_ = AgeTime::start(std::nullopt, witness, clocks_.read());
  EXPECT_EQ(now(), kStart + 10 * kNanosPerMinute);
  EXPECT_FALSE(time_.is_paused());
  clocks_.advance(8 * kDay);
  time_ = AgeTime::start(std::nullopt, witness, clocks_.read());
  EXPECT_TRUE(time_.is_paused());
  EXPECT_FALSE(is_dropped(kStart));
  EXPECT_EQ(time_.unix_of(kStart), kStart);
  run(kConfirmNano);
  EXPECT_TRUE(is_dropped(kStart));
  clocks_.set_wall(kStart - kYear);
  time_ = AgeTime::start(std::nullopt, witness, clocks_.read());
  EXPECT_GE(now(), kStart) << "stamps stay in order";
  EXPECT_TRUE(time_.is_paused());
}

// Its stamps may lag behind the wall clock by time off that nothing knows of any more.
TEST_F(AgeTimeTest, AStateThatIsLostDropsNothing) {
  const uint64_t first = stamp();
  reboot(8 * kDay);
  const uint64_t fresh = stamp();
  time_.accept();
  time_ = AgeTime::start(std::nullopt, {fresh, false}, clocks_.read());
  run(3 * kConfirmNano);
  EXPECT_FALSE(time_.is_paused());
  EXPECT_FALSE(is_dropped(first));
  EXPECT_FALSE(is_dropped(fresh));
  run(kKeep);
  EXPECT_TRUE(is_dropped(fresh));
}

TEST_F(AgeTimeTest, ManyGapsAreMergedTowardsYounger) {
  for (uint64_t boots = 0; boots < 3 * kMostAgeGaps; ++boots) {
    reboot(2 * kNanosPerHour);
    time_.accept();
    run(kTick);
  }
  EXPECT_EQ(time_.state().gaps.size(), kMostAgeGaps);
  EXPECT_TRUE(decode_age_state(encode_age_state(time_.state())).ok());
  EXPECT_LE(encode_age_state(time_.state()).size(), kMostAgeStateBytes);
  EXPECT_TRUE(is_dropped(kStart));
  EXPECT_FALSE(is_dropped(now() - kTick));
}

// A host with all its faults. Its wall clock may be wrong by two hours to ten years, but never for long enough to be
// confirmed. The test knows the true time.
class RandomHost {
 public:
  explicit RandomHost(uint64_t seed) : random_(seed) {}

  void run() {
    for (int action = 0; action < 300 && !::testing::Test::HasFailure(); ++action) act();
  }
  uint64_t dropped() const { return dropped_; }

 private:
  struct Kept {
    uint64_t stamp;
    uint64_t true_nano;
    uint64_t running_nano;
  };

  uint64_t up_to(uint64_t most) { return std::uniform_int_distribution<uint64_t>(0, most)(random_); }
  uint64_t now() const { return time_.at(clocks_.read().boottime_nano); }

  void act() {
    switch (up_to(9)) {
      case 0:
        return set_wrong();
      case 1:
        return correct();
      case 2:
        return restart(up_to(error_ == 0 ? 3 * kNanosPerHour : kTick));
      case 3:
        return reboot(up_to(30 * kNanosPerMinute));
      case 4:
        return reboot(up_to(3 * kDay));
      default:
        return run_for(up_to(9 * kNanosPerHour));
    }
  }

  void set_error(int64_t nano) {
    clocks_.step(nano - error_);
    error_ = nano;
    wrong_for_ = 0;
    look();
  }
  void set_wrong() {
    constexpr uint64_t kSizes[] = {3 * kNanosPerHour, 3 * kDay, 8 * kDay, 10 * kYear};
    const auto size = static_cast<int64_t>(2 * kNanosPerHour + up_to(kSizes[up_to(3)]));
    set_error(up_to(1) == 0 ? size : -size);
  }
  void correct() { set_error(0); }
  void restart(uint64_t down_nano) {
    pass(down_nano);
    start();
  }
  void reboot(uint64_t off_nano) {
    clocks_.reboot(off_nano);
    true_ += off_nano;
    if (up_to(2) == 0) {
      const int64_t earlier = error_;
      error_ = static_cast<int64_t>(2 * kNanosPerHour + up_to(10 * kDay)) * (up_to(1) == 0 ? 1 : -1);
      clocks_.step(error_ - earlier);
      wrong_for_ = 0;
    }
    start();
  }
  void start() {
    time_ = AgeTime::start(time_.state(), {kept_.empty() ? 0 : kept_.back().stamp, true}, clocks_.read());
    look();
    notice();
  }
  void run_for(uint64_t nano) {
    for (uint64_t left = nano; left > 0;) {
      const uint64_t some = std::min(left, 2 * kTick);
      pass(some);
      left -= some;
      look();
      kept_.push_back({now(), true_, running_});
      notice();
    }
  }
  // NTP, or an operator who reads the log.
  void notice() {
    if (error_ != 0 && wrong_for_ >= kTick) correct();
  }
  void pass(uint64_t nano) {
    clocks_.advance(nano);
    true_ += nano;
    running_ += nano;
    wrong_for_ += nano;
  }
  void look() {
    time_.observe(clocks_.read());
    EXPECT_GE(now(), kept_.empty() ? 0 : kept_.back().stamp) << "stamps stay in order";
    const uint64_t cutoff = time_.cutoff(now(), kKeep);
    const UnixSpan span = time_.unix_span(kept_.empty() ? 0 : kept_.front().stamp, now());
    EXPECT_LE(span.first_nano, span.last_nano);
    std::erase_if(kept_, [&](const Kept& one) { return check(one, cutoff); });
  }
  // A boot's time off is believed if it is wrong by less than an hour, so that is how exact ages are.
  bool check(const Kept& one, uint64_t cutoff) {
    const uint64_t age = true_ - one.true_nano;
    if (one.stamp >= cutoff) {
      EXPECT_LE(running_ - one.running_nano, kKeep + 2 * kConfirmNano) << "kept for too long";
      return false;
    }
    EXPECT_GE(age + kNanosPerHour, kKeep) << "dropped too early";
    ++dropped_;
    return true;
  }

  std::mt19937_64 random_;
  TestClocks clocks_{kStart};
  AgeTime time_ = AgeTime::start(std::nullopt, {}, clocks_.read());
  std::vector<Kept> kept_;
  int64_t error_ = 0;
  uint64_t true_ = 0, running_ = 0, wrong_for_ = 0, dropped_ = 0;
};

TEST(AgeTimeRandomTest, NothingYoungIsDroppedAndNothingOldIsKept) {
  const uint64_t seeds = repetitions(60);
  uint64_t dropped = 0;
  for (uint64_t seed = 1; seed <= seeds && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomHost host(seed);
    host.run();
    dropped += host.dropped();
  }
  EXPECT_GT(dropped, seeds * 100);
}

}  // namespace
}  // namespace fathom::store::testing

// Steps of the wall clock, boots and lost states of the clock, under a store with retention by age: spans, captures and
// identities live by the age clock.
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/time.h"
#include "store/testing/capture_builder.h"
#include "store/testing/rocks_rig.h"
#include "store/verify/stored_clock.h"

namespace fathom::store::testing {
namespace {

constexpr uint64_t kDay = 24 * kNanosPerHour;
constexpr uint64_t kYear = 365 * kDay;
const std::string kPaused = "fathom_retention_paused{by=\"age\"}";
const std::string kSteps = "fathom_clock_steps_total";

RocksOptions default_retention() {
  RocksOptions options;
  options.durability = Durability::kOs;
  options.retention_age_nano = 7 * kDay;
  options.maintenance_interval_nano = 1'000'000;
  return options;
}

uint64_t dropped(const std::string& kind, const std::string& reason = "age") {
  return metric("fathom_dropped_" + kind + "_total{reason=\"" + reason + "\"}");
}

class RocksClock : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(rig_.open(), ""); }

  TestClocks& clocks() { return rig_.clocks(); }
  static BatchPtr batch_of(uint64_t trace) { return make_batch({test_span(trace, 1, 0, 10)}); }

  void keep(uint64_t number) {
    ASSERT_EQ(append_once(rig_.store(), batch_of(number)).outcome, AppendOutcome::kDurable);
    ASSERT_EQ(send(rig_.store().captures(), test_capture(number), test_content(number, 1000)).outcome,
              AppendOutcome::kDurable);
  }
  bool is_kept(uint64_t number) {
    return stored_trace(rig_.store(), number).has_value() && rig_.store().captures().info(test_capture_id(number)).ok();
  }
  bool is_gone(uint64_t number) {
    return !stored_trace(rig_.store(), number) && !rig_.store().captures().info(test_capture_id(number)).ok();
  }
  // Retention has run several times with the clocks as they are now.
  void let_retention_run() {
    rig_.store().clock()->observe();
    ASSERT_TRUE(rig_.store().settle().ok());
    const uint64_t before = clocks().readings();
    ASSERT_TRUE(eventually([&] { return clocks().readings() >= before + 20; }));
  }
  // The server sees the time pass.
  void run(uint64_t nano) {
    for (uint64_t passed = 0; passed < nano; passed += kNanosPerHour / 4) {
      rig_.advance(kNanosPerHour / 4);
      rig_.store().clock()->observe();
    }
  }
  void reboot(uint64_t off_nano, int64_t step_nano = 0) {
    rig_.close();
    clocks().reboot(off_nano);
    clocks().step(step_nano);
    ASSERT_EQ(rig_.open(), "");
  }
  // Once a second, so a test waits for it.
  bool shows(const std::string& series, uint64_t value) {
    return eventually([&] { return metric(series) == value; });
  }

  RocksRig rig_{default_retention()};
};

TEST_F(RocksClock, NoStepDropsSpansOrCaptures) {
  const uint64_t spans = dropped("spans"), captures = dropped("captures");
  keep(1);
  uint64_t number = 1;
  for (int64_t step : {static_cast<int64_t>(8 * kDay), -static_cast<int64_t>(16 * kDay),
                       static_cast<int64_t>(10 * kYear), -static_cast<int64_t>(20 * kYear)}) {
    clocks().step(step);
    let_retention_run();
    keep(++number);
    let_retention_run();
    for (uint64_t kept = 1; kept <= number; ++kept) EXPECT_TRUE(is_kept(kept)) << kept << " after " << step;
    ASSERT_EQ(rig_.reopen(), "");
  }
  EXPECT_EQ(dropped("spans") - spans, 0u);
  EXPECT_EQ(dropped("captures") - captures, 0u);
  rig_.advance(7 * kDay + kNanosPerHour);
  EXPECT_TRUE(eventually([&] {
    for (uint64_t kept = 1; kept <= number; ++kept) {
      if (!is_gone(kept)) return false;
    }
    return true;
  })) << "no step makes anything immortal";
}

TEST_F(RocksClock, TimesOfReceptionAreShownByTheWallClockAsItIs) {
  clocks().step(static_cast<int64_t>(8 * kDay));
  rig_.store().clock()->observe();
  keep(1);
  EXPECT_EQ(rig_.store().stats().oldest_received_unix_nano, rig_.now_unix_nano());
  EXPECT_EQ(rig_.store().captures().stats().oldest_received_unix_nano, rig_.now_unix_nano());
  EXPECT_EQ(rig_.store().captures().info(test_capture_id(1))->info.received_unix_nano, rig_.now_unix_nano());
}

TEST_F(RocksClock, AStepWhileTheServerIsDownIsCounted) {
  const uint64_t steps = metric(kSteps);
  keep(1);
  rig_.close();
  clocks().step(static_cast<int64_t>(8 * kDay));
  ASSERT_EQ(rig_.open(), "");
  let_retention_run();
  EXPECT_TRUE(is_kept(1));
  EXPECT_EQ(metric(kSteps) - steps, 1u);
  EXPECT_EQ(metric(kPaused), 0u);
}

TEST_F(RocksClock, AHostThatBootsIn1970KeepsWhatItHad) {
  keep(1);
  rig_.close();
  clocks().reboot(kNanosPerMinute);
  const uint64_t right = rig_.now_unix_nano();
  clocks().set_wall(30 * kNanosPerSecond);
  ASSERT_EQ(rig_.open(), "");
  EXPECT_EQ(metric(kPaused), 1u);
  keep(2);
  clocks().set_wall(right + kNanosPerMinute);
  let_retention_run();
  EXPECT_TRUE(is_kept(1));
  EXPECT_TRUE(is_kept(2));
  EXPECT_TRUE(shows(kPaused, 0));
}

TEST_F(RocksClock, AfterAWeekendOffAgesCountItWhenItIsConfirmed) {
  keep(1);
  run(5 * kDay + kNanosPerHour);
  keep(2);
  reboot(2 * kDay);
  keep(3);
  let_retention_run();
  EXPECT_EQ(metric(kPaused), 1u);
  EXPECT_EQ(metric("fathom_clock_unconfirmed_seconds"), 2 * kDay / kNanosPerSecond);
  EXPECT_TRUE(is_kept(1));
  ASSERT_EQ(rig_.reopen(), "");
  EXPECT_EQ(metric(kPaused), 1u) << "a restart confirms nothing";
  EXPECT_TRUE(is_kept(1));
  run(kNanosPerHour);
  EXPECT_TRUE(shows(kPaused, 0));
  EXPECT_TRUE(eventually([&] { return is_gone(1); }));
  EXPECT_TRUE(is_kept(2));
  EXPECT_TRUE(is_kept(3));
}

TEST_F(RocksClock, TheOperatorAcceptsTheClockWithAFile) {
  keep(1);
  reboot(8 * kDay);
  keep(2);
  let_retention_run();
  EXPECT_TRUE(is_kept(1));
  std::ofstream(rig_.path() + "/accept-clock") << "";
  EXPECT_TRUE(shows(kPaused, 0));
  EXPECT_TRUE(eventually([&] { return is_gone(1); }));
  EXPECT_TRUE(is_kept(2));
  EXPECT_FALSE(std::filesystem::exists(rig_.path() + "/accept-clock"));
}

TEST_F(RocksClock, WhilePausedRetentionBySizeGoesOn) {
  rig_.options().retention_bytes = 1 << 20;
  reboot(8 * kDay);
  EXPECT_EQ(metric(kPaused), 1u);
  const uint64_t before = dropped("spans", "size");
  for (uint64_t trace = 1; dropped("spans", "size") == before; ++trace) {
    ASSERT_LT(trace, 2000u);
    TestSpan span = test_span(trace, 1, 0, 10).with({"bulk", test_content(trace, 20'000)});
    AppendResult result = append_once(rig_.store(), make_batch({span}));
    ASSERT_TRUE(result.outcome == AppendOutcome::kDurable || rig_.store().settle().ok());
  }
  EXPECT_EQ(metric(kPaused), 1u);
}

TEST_F(RocksClock, ADamagedStateDropsNothingAndIsSetAside) {
  const std::string failures = "fathom_clock_state_failures_total{operation=\"read\"}";
  const uint64_t before = metric(failures);
  keep(1);
  for (const std::string& damage : {std::string(), std::string("FTHMAGES"), std::string(100'000, 'x')}) {
    rig_.close();
    std::ofstream(rig_.path() + "/clock", std::ios::trunc) << damage;
    clocks().reboot(8 * kDay);
    ASSERT_EQ(rig_.open(), "");
    run(3 * kNanosPerHour);
    let_retention_run();
    EXPECT_TRUE(is_kept(1));
    EXPECT_TRUE(std::filesystem::exists(rig_.path() + "/clock.damaged"));
  }
  EXPECT_EQ(metric(failures) - before, 3u);
}

// Ages lag behind the wall clock by a step, which is no time off.
TEST_F(RocksClock, AMissingStateDropsNothing) {
  const std::string failures = "fathom_clock_state_failures_total{operation=\"read\"}";
  const uint64_t before = metric(failures);
  clocks().step(static_cast<int64_t>(8 * kDay));
  run(2 * kNanosPerHour);
  keep(1);
  rig_.close();
  std::filesystem::remove(rig_.path() + "/clock");
  clocks().reboot(kNanosPerMinute);
  ASSERT_EQ(rig_.open(), "");
  EXPECT_EQ(metric(kPaused), 0u);
  EXPECT_EQ(metric(failures) - before, 1u);
  run(3 * kNanosPerHour);
  let_retention_run();
  EXPECT_TRUE(is_kept(1));
}

// A server of an older version stamped by the wall clock.
TEST_F(RocksClock, WithoutAStateTheNewestStampDecides) {
  keep(1);
  rig_.close();
  for (const char* newer : {"/clock", "/store/manifest-size"}) std::filesystem::remove(rig_.path() + newer);
  std::ofstream(rig_.path() + "/version", std::ios::trunc) << "6\n";
  clocks().reboot(8 * kDay);
  ASSERT_EQ(rig_.open(), "");
  EXPECT_EQ(metric(kPaused), 1u);
  let_retention_run();
  EXPECT_TRUE(is_kept(1));
  EXPECT_EQ(rig_.store().stats().oldest_received_unix_nano, kTestNow);
  run(kNanosPerHour);
  EXPECT_TRUE(eventually([&] { return is_gone(1); }));
}

TEST_F(RocksClock, TheNewestStampMayBeOfASkippedCapture) {
  ASSERT_TRUE(rig_.store().captures().put_skipped({test_skipped(1)}).ok());
  rig_.close();
  for (const char* newer : {"/clock", "/store/manifest-size"}) std::filesystem::remove(rig_.path() + newer);
  std::ofstream(rig_.path() + "/version", std::ios::trunc) << "6\n";
  clocks().reboot(8 * kDay);
  ASSERT_EQ(rig_.open(), "");
  EXPECT_EQ(metric(kPaused), 1u);
}

// A crash came after the version was raised and before the clock ran.
TEST_F(RocksClock, AfterAnInterruptedUpgradeTheNewestStampDecides) {
  keep(1);
  rig_.close();
  std::ofstream(rig_.path() + "/clock", std::ios::trunc) << encode_age_state({});
  clocks().reboot(8 * kDay);
  ASSERT_EQ(rig_.open(), "");
  EXPECT_EQ(metric(kPaused), 1u);
  run(kNanosPerHour);
  EXPECT_TRUE(eventually([&] { return is_gone(1); }));
}

// Otherwise a later start would take stamps by the age clock for Unix times.
TEST_F(RocksClock, TheFirstStateMustBeWritten) {
  rig_.close();
  std::ofstream(rig_.path() + "/clock", std::ios::trunc) << encode_age_state({});
  std::filesystem::create_directories(rig_.path() + "/clock.new/in-the-way");
  EXPECT_NE(rig_.open().find("cannot write " + rig_.path() + "/clock"), std::string::npos);
  std::filesystem::remove_all(rig_.path() + "/clock.new");
  EXPECT_EQ(rig_.open(), "");
}

// Every start runs out of space a little later than the one before.
class RocksClockOfInterruptedStarts : public ::testing::TestWithParam<const char*> {};

TEST_P(RocksClockOfInterruptedStarts, IsThereWhenTheVersionIs) {
  RocksRig rig(default_retention());
  if (*GetParam() != '\0') {
    std::filesystem::copy(FATHOM_TESTDATA + std::string(GetParam()), rig.path(),
                          std::filesystem::copy_options::recursive);
    rig.clocks().reboot(8 * kDay);
  }
  const uint64_t before = metric("fathom_clock_state_failures_total{operation=\"read\"}");
  int interrupted = 0;
  for (uint64_t free_bytes = 0;; free_bytes += 10 + free_bytes / 5) {
    rig.disk().set_free_bytes(free_bytes);
    const std::string fault = rig.open();
    rig.close();
    rig.disk().crash();
    rig.disk().restart();
    ASSERT_TRUE(!must_have_clock(rig.path()) || std::filesystem::exists(rig.path() + "/clock")) << free_bytes;
    if (fault.empty()) break;
    ++interrupted;
    ASSERT_LT(free_bytes, 1u << 20) << fault;
  }
  EXPECT_GT(interrupted, 3);
  rig.disk().release_space();
  ASSERT_EQ(rig.open(), "");
  EXPECT_TRUE(must_have_clock(rig.path()));
  EXPECT_EQ(metric("fathom_clock_state_failures_total{operation=\"read\"}") - before, 0u);
  EXPECT_EQ(metric(kPaused), *GetParam() == '\0' ? 0u : 1u) << "an older directory's stamps are Unix times";
}

INSTANTIATE_TEST_SUITE_P(From, RocksClockOfInterruptedStarts, ::testing::Values("", "/data-v6"),
                         [](const auto& info) { return *info.param == '\0' ? "New" : "Version6"; });

TEST_F(RocksClock, AStateThatCannotBeWrittenIsCountedAndStopsNothing) {
  const std::string failures = "fathom_clock_state_failures_total{operation=\"write\"}";
  const uint64_t before = metric(failures);
  std::filesystem::create_directories(rig_.path() + "/clock.new/in-the-way");
  clocks().step(static_cast<int64_t>(8 * kDay));
  EXPECT_TRUE(eventually([&] { return metric(failures) > before; }));
  keep(1);
  EXPECT_TRUE(is_kept(1));
  std::filesystem::remove_all(rig_.path() + "/clock.new");
  ASSERT_EQ(rig_.reopen(), "");
  EXPECT_TRUE(is_kept(1));
}

// Exporters send a batch again while its acknowledgement is missing, however the clock is set meanwhile.
TEST_F(RocksClock, ABatchIsADuplicateForAnHourWhateverTheWallClockSays) {
  for (int64_t step : {-static_cast<int64_t>(2 * kNanosPerHour), static_cast<int64_t>(3 * kNanosPerHour),
                       -static_cast<int64_t>(10 * kYear), static_cast<int64_t>(10 * kYear)}) {
    const uint64_t trace = 100 + static_cast<uint64_t>(step % 1'000'003 + 2'000'000);
    ASSERT_FALSE(append_once(rig_.store(), batch_of(trace)).duplicate);
    clocks().step(step);
    rig_.store().clock()->observe();
    // Another batch, in whose write old identities expire.
    ASSERT_FALSE(append_once(rig_.store(), batch_of(trace + 1)).duplicate);
    EXPECT_TRUE(append_once(rig_.store(), batch_of(trace)).duplicate) << step;
    ASSERT_EQ(rig_.reopen(), "");
    EXPECT_TRUE(append_once(rig_.store(), batch_of(trace)).duplicate) << step;
    clocks().reboot(kNanosPerMinute);
    ASSERT_EQ(rig_.reopen(), "");
    EXPECT_TRUE(append_once(rig_.store(), batch_of(trace)).duplicate) << step;
    rig_.advance(kNanosPerHour + kNanosPerMinute);
    EXPECT_FALSE(append_once(rig_.store(), batch_of(trace)).duplicate) << "an hour is over, step " << step;
  }
}

}  // namespace
}  // namespace fathom::store::testing

#include "node-agent/kernel/choices.h"

#include <gtest/gtest.h>

namespace fathom::agent::kernel {
namespace {

constexpr ProcessId kFirst{.pid = 10, .started_ticks = 1};
constexpr ProcessId kSecond{.pid = 10, .started_ticks = 2};  // the same number, later
constexpr ProcessId kOther{.pid = 20, .started_ticks = 1};

TEST(Choices, AProcessIsKnownByItsTime) {
  Choices choices;
  choices.begin(kFirst, 100);
  choices.end(10, 200);
  choices.begin(kSecond, 300);
  ChoiceFilter all = choices.filter({});
  EXPECT_EQ(all.find(10, 99), nullptr);
  EXPECT_EQ(all.find(10, 150)->process, kFirst);
  EXPECT_EQ(all.find(10, 250), nullptr);
  EXPECT_EQ(all.find(10, 5'000)->process, kSecond);
  EXPECT_EQ(all.find(20, 150), nullptr);
}

TEST(Choices, AFilterIsAboutItsProcesses) {
  Choices choices;
  choices.begin(kFirst, 100);
  choices.end(10, 200);
  choices.begin(kSecond, 300);
  choices.begin(kOther, 100);
  const ProcessId wanted[] = {kFirst, kOther};
  ChoiceFilter filter = choices.filter(wanted);
  EXPECT_NE(filter.find(10, 150), nullptr);
  EXPECT_EQ(filter.find(10, 350), nullptr);
  EXPECT_NE(filter.find(20, 350), nullptr);
  EXPECT_EQ(filter.current(), std::vector<ProcessId>{kOther});
}

TEST(Choices, AllAreRecordedFromWhenTheLastWasChosen) {
  Choices choices;
  choices.begin(kFirst, 100);
  choices.end(10, 200);
  choices.begin(kSecond, 300);
  choices.begin(kOther, 150);
  const ProcessId both[] = {kFirst, kOther};
  EXPECT_EQ(choices.filter(both).all_from_nano(1000), 150U);
  const ProcessId second[] = {kSecond, kOther};
  EXPECT_EQ(choices.filter(second).all_from_nano(1000), 300U);
  EXPECT_EQ(choices.filter(second).all_from_nano(250), 250U) << "by then it had not been chosen";
  const ProcessId unknown[] = {{77, 1}};
  EXPECT_EQ(choices.filter(unknown).all_from_nano(1000), 1000U);
}

TEST(Choices, WhatEndedIsRememberedWithinBounds) {
  Choices choices;
  for (pid_t pid = 1; pid <= static_cast<pid_t>(2 * kMostChosen); ++pid) {
    choices.begin({pid, 1}, 100);
    choices.end(pid, 200);
  }
  EXPECT_EQ(choices.count(), 0U);
  ChoiceFilter all = choices.filter({});
  EXPECT_EQ(all.find(kMostChosen, 150), nullptr);
  EXPECT_NE(all.find(kMostChosen + 1, 150), nullptr);
  choices.end(5, 300);  // of one that is not chosen: nothing
}

}  // namespace
}  // namespace fathom::agent::kernel

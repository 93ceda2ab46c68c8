#include <gtest/gtest.h>

#include "base/capture_trigger.h"

namespace fathom {
namespace {

TEST(CaptureTrigger, HasANumberAndAName) {
  for (uint64_t number = 1; number <= kCaptureTriggerNames.size(); ++number) {
    std::optional<CaptureTrigger> trigger = capture_trigger_of(number);
    ASSERT_TRUE(trigger);
    EXPECT_EQ(static_cast<uint64_t>(*trigger), number);
    EXPECT_EQ(capture_trigger_of(name_of(*trigger)), trigger);
  }
  EXPECT_EQ(name_of(CaptureTrigger::kOverdue), "overdue");
  EXPECT_EQ(name_of(CaptureTrigger::kRemote), "remote");
}

TEST(CaptureTrigger, WhatIsNotKnownIsNone) {
  EXPECT_EQ(capture_trigger_of(uint64_t{0}), std::nullopt);
  EXPECT_EQ(capture_trigger_of(kCaptureTriggerNames.size() + 1), std::nullopt);
  EXPECT_EQ(capture_trigger_of(UINT64_MAX), std::nullopt);
  EXPECT_EQ(capture_trigger_of("unknown"), std::nullopt);
  EXPECT_EQ(name_of(static_cast<CaptureTrigger>(0)), "unknown");
  EXPECT_EQ(name_of(static_cast<CaptureTrigger>(255)), "unknown");
}

TEST(CaptureTrigger, AreListedForPeople) {
  const std::string words = words_of_capture_triggers();
  EXPECT_TRUE(words.starts_with("overdue, slow, error, ")) << words;
  EXPECT_TRUE(words.ends_with(" or " + std::string(kCaptureTriggerNames.back()))) << words;
}

}  // namespace
}  // namespace fathom

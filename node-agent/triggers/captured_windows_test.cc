#include "node-agent/triggers/captured_windows.h"

#include <gtest/gtest.h>

namespace fathom::agent {
namespace {

constexpr uint64_t kSlack = 10;

std::optional<TimeWindow> missing_of_100_to_500(const std::vector<TimeWindow>& others) {
  return missing_part({100, 500}, others, kSlack);
}

TEST(MissingPart, IsWhatNoOtherHas) {
  EXPECT_EQ(missing_of_100_to_500({}), (TimeWindow{100, 500}));
  EXPECT_EQ(missing_of_100_to_500({{0, 90}, {510, 600}}), (TimeWindow{100, 500}));
  EXPECT_EQ(missing_of_100_to_500({{50, 200}}), (TimeWindow{200, 500}));
  EXPECT_EQ(missing_of_100_to_500({{300, 600}}), (TimeWindow{100, 300}));
  EXPECT_EQ(missing_of_100_to_500({{300, 500}, {50, 200}}), (TimeWindow{200, 300}));
  EXPECT_EQ(missing_of_100_to_500({{200, 300}}), (TimeWindow{100, 500})) << "in one piece";
}

TEST(MissingPart, IsNothingWhereOthersHaveAllButALittle) {
  EXPECT_FALSE(missing_of_100_to_500({{110, 490}}));
  EXPECT_FALSE(missing_of_100_to_500({{300, 500}, {200, 300}, {100, 200}})) << "in whatever order";
  EXPECT_FALSE(missing_of_100_to_500({{0, 1000}}));
  EXPECT_EQ(missing_of_100_to_500({{111, 489}}), (TimeWindow{100, 500}));
  EXPECT_FALSE(missing_part({500, 100}, {}, kSlack));
}

TraceId trace_id_of(uint8_t number) {
  TraceId trace;
  trace.bytes[0] = number;
  return trace;
}

TEST(CapturedWindows, AreOfAProgramAndATrace) {
  CapturedWindows windows;
  windows.add(1, trace_id_of(1), {1, 2}, 0);
  windows.add(1, trace_id_of(1), {1, 2}, 0);
  windows.add(1, trace_id_of(1), {3, 4}, 0);
  EXPECT_EQ(windows.of(1, trace_id_of(1), 0), (std::vector<TimeWindow>{{1, 2}, {3, 4}}));
  EXPECT_TRUE(windows.of(1, trace_id_of(2), 0).empty());
  EXPECT_TRUE(windows.of(2, trace_id_of(1), 0).empty());
  windows.take_back(1, trace_id_of(1), {1, 2}, 0);
  EXPECT_EQ(windows.of(1, trace_id_of(1), 0), (std::vector<TimeWindow>{{3, 4}}));
  EXPECT_TRUE(windows.of(1, trace_id_of(1), CapturedWindows::kKeepNano).empty()) << "forgotten";
}

TEST(CapturedWindows, AreBounded) {
  CapturedWindows windows;
  for (uint64_t i = 0; i <= CapturedWindows::kMostOfTrace; ++i) windows.add(1, trace_id_of(1), {i, i + 1}, 0);
  const std::vector<TimeWindow> kept = windows.of(1, trace_id_of(1), 0);
  ASSERT_EQ(kept.size(), CapturedWindows::kMostOfTrace);
  EXPECT_EQ(kept.front(), (TimeWindow{1, 2})) << "the oldest goes";
}

}  // namespace
}  // namespace fathom::agent

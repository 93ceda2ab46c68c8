#include "capture/capture.h"

#include <gtest/gtest.h>

#include "capture/testing/random_capture.h"

namespace fathom::capture {
namespace {

Capture with_anchors(std::vector<Anchor> anchors) {
  Capture capture;
  capture.anchors = std::move(anchors);
  return capture;
}

TEST(Capture, TimesAreInterpolatedBetweenAnchorsOfOneEpoch) {
  Capture capture = with_anchors({{1000, 5000, 0}, {2000, 6002, 0}});
  EXPECT_EQ(unix_nano_at(capture, 1000), 5000u);
  EXPECT_EQ(unix_nano_at(capture, 1500), 5501u);
  EXPECT_EQ(unix_nano_at(capture, 2000), 6002u);
  EXPECT_EQ(unix_nano_at(capture, 2100), 6102u) << "beyond the last the difference stays";
  EXPECT_EQ(unix_nano_at(capture, 900), 4900u) << "and before the first";
  EXPECT_EQ(unix_nano_at(Capture{}, 7), 0u);
}

TEST(Capture, NothingIsInterpolatedAcrossAJump) {
  Capture capture = with_anchors({{1000, 5000, 0}, {2000, 9000, 1}, {3000, 10'000, 1}});
  EXPECT_EQ(unix_nano_at(capture, 1999), 5999u);
  EXPECT_EQ(unix_nano_at(capture, 2000), 9000u);
  EXPECT_EQ(unix_nano_at(capture, 2500), 9500u);
}

TEST(Capture, AWindowThatTouchesTheGapOfAJumpCrossesIt) {
  Capture capture = with_anchors({{1000, 5000, 0}, {2000, 6000, 0}, {2100, 9000, 1}, {3000, 9900, 1}});
  auto crosses = [&](uint64_t begin, uint64_t end) {
    capture.begin_nano = begin;
    capture.end_nano = end;
    return crosses_clock_jump(capture);
  };
  EXPECT_FALSE(crosses(900, 1500));
  EXPECT_FALSE(crosses(1500, 2000));
  EXPECT_TRUE(crosses(1500, 2001)) << "where in the gap it jumped nobody knows";
  EXPECT_TRUE(crosses(2050, 2060));
  EXPECT_TRUE(crosses(1000, 9000));
  EXPECT_FALSE(crosses(2100, 2200));
  EXPECT_FALSE(crosses(3500, 9000));
  EXPECT_FALSE(crosses_clock_jump(Capture{}));
}

TEST(Capture, IsTheSameWhereverItsValuesLie) {
  Capture a = testing::sample_capture();
  Capture b = a;
  EXPECT_TRUE(same(a, b));
  // The values of each event anew, the last event's first.
  Thread& thread = b.threads[1];
  const Thread was = thread;
  thread.values.clear();
  thread.texts = "xyz";
  for (size_t i = thread.events.size(); i-- > 0;) {
    Event& event = thread.events[i];
    std::span<const Value> values = was.values_of(event);
    event.first_value = static_cast<uint32_t>(thread.values.size());
    for (size_t k = 0; k < values.size(); ++k) {
      FieldType type = b.tracepoints[event.tracepoint].fields[k].type;
      bool is_text = type == FieldType::kText || type == FieldType::kBytes;
      thread.values.push_back(is_text ? thread.add_text(was.text_of(values[k]), values[k].is_cut()) : values[k]);
    }
  }
  EXPECT_TRUE(same(a, b));
  thread.texts[4] = '!';
  EXPECT_FALSE(same(a, b));
}

}  // namespace
}  // namespace fathom::capture

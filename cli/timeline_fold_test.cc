#include "cli/timeline_fold.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

#include "cli/api.h"

namespace fathom::cli {
namespace {

// Items of a thread with one span of 100 ms, one item per millisecond: states, unless another list is named.
class ThreadDocument {
 public:
  // `more`: members besides the times.
  ThreadDocument& add(const std::string& more, uint64_t duration_nano, const std::string& list = "states") {
    std::string& items = lists_[list];
    items += (items.empty() ? "{" : ",{") + more + R"(,"offset_nano":)" + std::to_string(next_nano_) +
             R"(,"duration_nano":)" + std::to_string(duration_nano) + "}";
    next_nano_ += std::max<uint64_t>(1'000'000, duration_nano);
    return *this;
  }
  ThreadLines lines(size_t most = 1000) const {
    std::string json = R"({"spans":[{"operation":"serve","offset_nano":0,"duration_nano":100000000}])";
    for (const auto& [list, items] : lists_) json += ",\"" + list + "\":[" + items + "]";
    auto document = parse_json(json + "}");
    EXPECT_TRUE(document.ok()) << json;
    return document ? thread_lines(*document, most) : ThreadLines();
  }
  // Without the line of the span.
  std::string text(size_t most = 1000) const {
    std::string text;
    const ThreadLines shown = lines(most);
    for (const TimelineLine& line : shown.lines) {
      if (line.kind != TimelineLineKind::kSpan) text += line.text + "\n";
    }
    return text;
  }

 private:
  std::map<std::string, std::string> lists_;
  uint64_t next_nano_ = 0;
};

const std::string kQueue = R"("state":"runnable","throttled":"possible")";
const std::string kSleep = R"("state":"sleeping","waker":{"pid":7,"tid":8,"name":"holder"})";

std::string interrupted(const std::string& name) {
  return R"("state":"sleeping","waker":{"interrupt":true,"name":")" + name + R"("})";
}
std::string read_call(int result, const std::string& more = "") {
  return R"("name":"read","arguments":["7","4096"],"result":)" + std::to_string(result) + more;
}

TEST(TimelineFold, AHundredWaitsThatAreAlikeAreOneLine) {
  ThreadDocument thread;
  for (int i = 0; i < 99; ++i) thread.add(kQueue, i == 40 ? 900'000 : 600'000);
  EXPECT_EQ(thread.text(), "(runnable 59.7 ms, 99 times (longest 900 us), preempted or throttled by a CPU quota)\n");
  const TimelineLine line = thread.lines().lines.at(1);
  EXPECT_EQ(line.offset_nano, 0);
  EXPECT_EQ(line.duration_nano, 98'600'000u) << "from the first begin to the last end";
  EXPECT_EQ(line.depth, 1u);
}

TEST(TimelineFold, WaitsOfAFewKindsAreALineForEach) {
  ThreadDocument thread;
  for (int i = 0; i < 20; ++i) thread.add(kSleep, 500'000).add(kQueue, 100'000);
  thread.add(kQueue, 100'000);
  EXPECT_EQ(thread.text(),
            "(sleeping 10 ms, 20 times (longest 500 us), woken by holder (8))\n"
            "(runnable 2.1 ms, 21 times (longest 100 us), preempted or throttled by a CPU quota)\n");
}

TEST(TimelineFold, WhatRanWhenAnInterruptCameMakesNoDifference) {
  ThreadDocument thread;
  for (const char* name : {"a", "b", "c"}) thread.add(interrupted(name), 5'000);
  EXPECT_EQ(thread.text(), "(sleeping 15 us, 3 times (longest 5 us), woken by an interrupt)\n");
}

TEST(TimelineFold, WhatTakesLongStandsForItself) {
  ThreadDocument thread;
  for (int i = 0; i < 3; ++i) thread.add(kSleep, 1'000'000);
  thread.add(kSleep, 50'000'000);
  for (int i = 0; i < 4; ++i) thread.add(kSleep, 1'000'000);
  EXPECT_EQ(thread.text(),
            "(sleeping 3 ms, 3 times (longest 1 ms), woken by holder (8))\n"
            "(sleeping 50 ms, woken by holder (8))\n"
            "(sleeping 4 ms, 4 times (longest 1 ms), woken by holder (8))\n");
}

TEST(TimelineFold, AnEventStandsBetween) {
  ThreadDocument thread;
  for (int i = 0; i < 3; ++i) thread.add(kSleep, 5'000);
  thread.add(R"("name":"lock.wanted")", 0, "events");
  for (int i = 0; i < 3; ++i) thread.add(kSleep, 5'000);
  const std::string waits = "(sleeping 15 us, 3 times (longest 5 us), woken by holder (8))\n";
  EXPECT_EQ(thread.text(), waits + "lock.wanted\n" + waits);
}

TEST(TimelineFold, WhatIsNoRepetitionStaysAsItIs) {
  ThreadDocument two, several;
  two.add(kSleep, 5'000).add(kSleep, 6'000);
  EXPECT_EQ(two.text(), "(sleeping 5 us, woken by holder (8))\n(sleeping 6 us, woken by holder (8))\n");
  for (int i = 0; i < 9; ++i)
    several.add(R"("state":"sleeping","in":"page fault","waker":{"tid":)" + std::to_string(i) + "}", 5);
  EXPECT_EQ(several.lines().lines.size(), 10u) << "nine different wakers";
}

TEST(TimelineFold, CallsAreAlikeByTheirArgumentsErrorsAndWaits) {
  const std::string waited = R"(,"longest_wait":{"state":"sleeping","duration_nano":800,"waker":{"tid":8,"name":"h"}})";
  ThreadDocument thread;
  for (int i = 0; i < 4; ++i) thread.add(read_call(12 + i, waited), 1'000, "system_calls");
  for (int i = 0; i < 3; ++i) thread.add(read_call(-11, R"(,"error":"EAGAIN")"), 2'000, "system_calls");
  for (int i = 0; i < 3; ++i) thread.add(read_call(5), 3'000, "system_calls");
  EXPECT_EQ(thread.text(),
            "read(7, 4096), 4 times, 4 us in all (longest 1 us)  sleeping 3.2 us, 4 times (longest 800 ns), woken by h "
            "(8)\n"
            "read(7, 4096) = EAGAIN, 3 times, 6 us in all (longest 2 us)\n"
            "read(7, 4096) = 5, 3 times, 9 us in all (longest 3 us)\n");
}

TEST(TimelineFold, ACallThatIsNotOverStandsForItself) {
  ThreadDocument thread;
  for (int i = 0; i < 3; ++i) thread.add(read_call(0, R"(,"under_way":true)"), 1'000, "system_calls");
  EXPECT_EQ(thread.lines().lines.size(), 4u);
}

TEST(TimelineFold, BeyondTheLimitWhatTookLongerInAllStays) {
  ThreadDocument thread;
  for (int i = 0; i < 10; ++i) thread.add(kQueue, 1'000).add(kSleep, 2'000);
  thread.add(read_call(1), 50'000, "system_calls");
  EXPECT_EQ(thread.text(1), "... 2 more lines\nread(7, 4096) = 1\n");
}

// Each kind has its own begin, end and members in between.
TEST(TimelineFold, WhoeverAsksForAllSeesEach) {
  ThreadDocument thread;
  for (int i = 0; i < 25; ++i) thread.add(read_call(i), 5'000, "system_calls").add(kQueue, 10'000);
  const ThreadLines all = thread.lines(0);
  ASSERT_EQ(all.lines.size(), 51u);
  EXPECT_EQ(all.left_out, 0u);
  EXPECT_EQ(all.lines[49].text, "read(7, 4096) = 24");
  EXPECT_EQ(all.lines[49].offset_nano, 48'000'000);
  EXPECT_EQ(all.lines[49].duration_nano, 5'000u);
  EXPECT_EQ(thread.lines(50).lines.size(), 3u) << "one for each kind";
}

}  // namespace
}  // namespace fathom::cli

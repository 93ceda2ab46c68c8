#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "query/timeline/timeline_query.h"

namespace fathom::query {
namespace {

constexpr size_t kSpansWithFewSums = 5;
constexpr size_t kSpansWithManySums = 1'002;

// The n-th sum has n * 10 ns; the most expensive one comes first.
TimelineSpan span_with_sums(size_t many) {
  TimelineSpan span;
  for (size_t i = many; i > 0; --i) {
    const StateInterval wait{.state = ThreadState::kSleeping, .begin_nano = 1, .end_nano = 1 + i * 10};
    span.waits.sums.push_back({.longest = wait, .count = 1, .total_nano = i * 10});
  }
  return span;
}

boost::json::value first_thread_of(const Timeline& timeline) {
  store::QueryBudget budget;
  const Result<std::string> json = timeline_json(timeline, budget);
  EXPECT_TRUE(json.ok());
  return json ? boost::json::parse(*json).at("processes").at(0).at("threads").at(0) : boost::json::value();
}

boost::json::array spans_of(const Timeline& timeline) {
  return first_thread_of(timeline).at("spans").as_array();
}

TimelineProcess process_on(uint8_t node, uint32_t pid, const std::string& service) {
  TimelineProcess process;
  process.node_id.bytes[0] = node;
  process.pid = pid;
  process.service = service;
  return process;
}

TEST(TimelineJson, OnlyTheFirstSpansListManySumsOfWaits) {
  Timeline timeline;
  std::vector<TimelineSpan>& spans = timeline.processes.emplace_back().threads.emplace_back().spans;
  spans.assign(kSpansWithFewSums, span_with_sums(3));
  spans.insert(spans.end(), kSpansWithManySums, span_with_sums(5));
  spans.back().waits.more_count = 7;
  spans.back().waits.more_nano = 70;
  const boost::json::array written = spans_of(timeline);
  ASSERT_EQ(written.size(), kSpansWithFewSums + kSpansWithManySums);
  const boost::json::object& last_with_all = written[kSpansWithFewSums + 999].as_object();
  EXPECT_EQ(last_with_all.at("waits").as_array().size(), 5u) << "spans with few do not count";
  EXPECT_FALSE(last_with_all.contains("more_waits"));
  const boost::json::object& next = written[kSpansWithFewSums + 1'000].as_object();
  EXPECT_EQ(next.at("waits").as_array().size(), 3u);
  EXPECT_EQ(next.at("waits").at(2).at("total_nano").to_number<uint64_t>(), 30u) << "the most expensive ones";
  EXPECT_EQ(next.at("more_waits").at("count").to_number<uint64_t>(), 2u);
  EXPECT_EQ(next.at("more_waits").at("total_nano").to_number<uint64_t>(), 30u);
  const boost::json::object& last = written.back().as_object();
  EXPECT_EQ(last.at("more_waits").at("count").to_number<uint64_t>(), 9u);
  EXPECT_EQ(last.at("more_waits").at("total_nano").to_number<uint64_t>(), 100u);
}

TEST(TimelineJson, AWakerOfAnotherProcessHasItsService) {
  Timeline timeline;
  timeline.processes = {process_on(1, 7, "depot"), process_on(2, 8, "elsewhere"), process_on(1, 8, "vault")};
  std::vector<TimelineState>& states = timeline.processes[0].threads.emplace_back().states;
  std::vector<capture::KernelEvent> wakers;
  for (const int32_t pid : {7, 8, 9, 0}) wakers.push_back({.other_pid = pid, .other_tid = 70});
  for (const auto& waker : wakers) states.push_back({{.state = ThreadState::kSleeping, .waker = &waker}, ""});
  const boost::json::value thread = first_thread_of(timeline);
  const auto waker = [&](size_t i) { return thread.at("states").at(i).at("waker").as_object(); };
  EXPECT_FALSE(waker(0).contains("other_process")) << "it is of the same process";
  EXPECT_EQ(waker(1).at("other_process"), true);
  EXPECT_EQ(waker(1).at("service"), "vault") << "on the same node";
  EXPECT_EQ(waker(2).at("other_process"), true);
  EXPECT_FALSE(waker(2).contains("service")) << "the timeline does not have that process";
  EXPECT_FALSE(waker(3).contains("other_process")) << "its process is unknown";
}

}  // namespace
}  // namespace fathom::query

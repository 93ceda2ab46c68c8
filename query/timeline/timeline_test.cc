// Timelines of a sample, written down in testdata/. To change them: run this test with FATHOM_WRITE_GOLDEN set to that
// directory, look at the difference, and commit it.
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json.hpp>
#include <cstdlib>
#include <fstream>
#include <regex>
#include <sstream>

#include "capture/encode.h"
#include "capture/testing/random_capture.h"
#include "perfetto/trace.pb.h"
#include "query/testing/sample_timeline.h"
#include "query/timeline/timeline_query.h"
#include "store/model/memory_captures.h"

namespace fathom::query {
namespace {

using testing::kMilli;
using testing::kSampleStart;
using testing::sample_capture;
using testing::sample_capture_id;
using testing::sample_capture_info;
using testing::sample_monotonic;
using testing::sample_span_id;
using testing::sample_trace_id;
using testing::SampleTimeline;

void expect_golden(const std::string& name, const std::string& text) {
  if (const char* directory = std::getenv("FATHOM_WRITE_GOLDEN")) {
    std::ofstream(std::string(directory) + "/" + name) << text;
  }
  std::ifstream file(std::string(FATHOM_TESTDATA) + "/" + name);
  std::stringstream golden;
  golden << file.rdbuf();
  EXPECT_EQ(text, golden.str());
}

// A member of each object on a line of its own is what a person can compare.
std::string spread(const std::string& json) {
  std::string out;
  bool quoted = false;
  for (size_t i = 0; i < json.size(); ++i) {
    out += json[i];
    if (json[i] == '"' && json[i - 1] != '\\') quoted = !quoted;
    bool breaks = !quoted && (json[i] == '[' || (json[i] == ',' && json[i - 1] == '}'));
    if (breaks && json[i + 1] == '{') out += '\n';
  }
  return out;
}

class TimelineTest : public ::testing::Test {
 protected:
  Timeline built(const TimelineQuery& query) {
    store::QueryBudget budget;
    auto timeline = build_timeline(sample_.stores(), query, budget);
    EXPECT_TRUE(timeline.ok()) << timeline.error().message;
    return timeline ? *std::move(timeline) : Timeline{};
  }
  ErrorCode refused(const TimelineQuery& query, uint64_t bytes = UINT64_MAX) {
    store::QueryBudget budget(UINT64_MAX, bytes);
    auto timeline = build_timeline(sample_.stores(), query, budget);
    EXPECT_FALSE(timeline.ok());
    return timeline.ok() ? ErrorCode::kInternal : timeline.error().code;
  }
  std::string json_of(const Timeline& timeline) { return *timeline_json(timeline, unlimited_); }
  static TimelineQuery of_trace(uint64_t n = 1) { return {.subject = {.trace = sample_trace_id(n)}}; }

  SampleTimeline sample_;
  store::QueryBudget unlimited_;
};

TEST_F(TimelineTest, TheWholeDocument) {
  std::string json = json_of(built(of_trace()));
  ASSERT_NO_THROW((void)boost::json::parse(json));
  // The moment of reception is the store's own clock; the size is a matter of zstd's version.
  json = std::regex_replace(json, std::regex(R"("received_unix_nano":"\d+")"), R"("received_unix_nano":"0")");
  json = std::regex_replace(json, std::regex(R"("size_bytes":\d+)"), R"("size_bytes":0)");
  expect_golden("timeline.json", spread(json));
}

TEST_F(TimelineTest, TheWholeTraceForPerfetto) {
  TimelineQuery query = of_trace();
  query.all = true;
  perfetto::protos::Trace trace;
  ASSERT_TRUE(trace.ParseFromString(*timeline_perfetto(built(query), unlimited_)));
  std::string text;
  google::protobuf::TextFormat::PrintToString(trace, &text);
  expect_golden("perfetto.txt", text);
}

TEST_F(TimelineTest, AThreadThatServesAnotherRequestIsNotListedUnlessAskedFor) {
  Timeline timeline = built(of_trace());
  ASSERT_EQ(timeline.processes.size(), 2u);
  EXPECT_EQ(timeline.processes[0].threads.size(), 1u);
  EXPECT_EQ(timeline.processes[0].other_threads, 1u);
  EXPECT_EQ(timeline.processes[0].threads[0].other_events, 1u) << "one of no span, after the request";
  TimelineQuery query = of_trace();
  query.all = true;
  timeline = built(query);
  ASSERT_EQ(timeline.processes[0].threads.size(), 2u);
  EXPECT_EQ(timeline.processes[0].threads[0].events.size(), 3u);
  EXPECT_TRUE(timeline.processes[0].threads[1].events[0].other);
  EXPECT_FALSE(timeline.processes[0].threads[1].of_trace);
}

// The thread that ended the wait follows those of the trace, whatever its tid.
TEST_F(TimelineTest, WhoEndedTheWaitsOfTheRequestStandsBeforeOtherThreads) {
  capture::Capture content = sample_capture();
  content.threads.insert(content.threads.begin(), capture::Thread{.tid = 4711, .name = "main"});
  store::CaptureInfo info = sample_capture_info(4);
  sample_.add_capture(info, capture::encode(content));
  TimelineQuery query = of_trace();
  query.capture = info.id;
  query.all = true;
  const Timeline timeline = built(query);
  const auto& threads = timeline.processes.at(0).threads;
  ASSERT_EQ(threads.size(), 3u);
  EXPECT_EQ(threads[0].tid, 4712u);
  EXPECT_EQ(threads[1].name, "flush-7");
  EXPECT_EQ(threads[1].ended_waits_nano, 779'800'000u);
  EXPECT_EQ(threads[2].name, "main");
  EXPECT_NE(json_of(timeline).find("\"ended_waits_nano\":779800000,"), std::string::npos);
}

TEST_F(TimelineTest, ASpanSaysWhereItsTimeWent) {
  const Timeline timeline = built(of_trace());
  const TimelineSpan& root = timeline.processes[0].threads[0].spans[0];
  EXPECT_EQ(root.operation, "POST /checkout");
  EXPECT_EQ(root.totals.of(ThreadState::kSleeping), 779'800'000u);
  EXPECT_EQ(root.totals.of(ThreadState::kUninterruptible), 4'990'000u);
  ASSERT_TRUE(root.totals.longest_wait);
  ASSERT_NE(root.totals.longest_wait->waker, nullptr);
  EXPECT_EQ(root.totals.longest_wait->waker->other_name, "flush-7");
  EXPECT_EQ(timeline.begin_unix_nano, kSampleStart) << "corrected by the clock's offset, like the capture's times";
  ASSERT_EQ(timeline.processes[1].spans.size(), 1u);
  EXPECT_EQ(timeline.processes[1].service, "stock") << "which nothing captured";
}

TEST_F(TimelineTest, OneSpanIsItAndWhatIsBelowWhileItLasted) {
  TimelineQuery query = of_trace();
  query.span = sample_span_id(2);
  Timeline timeline = built(query);
  const TimelineThread& thread = timeline.processes[0].threads.at(0);
  ASSERT_EQ(thread.spans.size(), 1u);
  ASSERT_EQ(thread.events.size(), 1u) << "the root's own event is not its";
  ASSERT_EQ(thread.calls.size(), 1u) << "read() came later";
  EXPECT_EQ(timeline.begin_unix_nano, kSampleStart + 9 * kMilli);
  query.span = sample_span_id(77);
  EXPECT_EQ(refused(query), ErrorCode::kNotFound);
}

store::SpanView silent_span(uint64_t n, uint64_t start_milli, uint64_t end_milli) {
  store::SpanView span{.trace_id = sample_trace_id(1), .span_id = sample_span_id(n), .name = "silent"};
  span.parent_span_id = sample_span_id(1);
  span.start_unix_nano = kSampleStart + start_milli * kMilli;
  span.end_unix_nano = kSampleStart + end_milli * kMilli;
  return span;
}

// It wrote no event, and was not open when the capture was made.
TEST_F(TimelineTest, ASpanIsOfTheOnlyThreadThatRanAtBothOfItsEnds) {
  sample_.add_span(silent_span(60, 5, 792), "checkout", 4711);
  Timeline timeline = built(of_trace());
  const auto& spans = timeline.processes[0].threads.at(0).spans;
  ASSERT_EQ(spans.size(), 3u);
  EXPECT_EQ(spans[1].span_id, sample_span_id(60));
  EXPECT_TRUE(spans[1].guessed_thread);
  EXPECT_FALSE(spans[2].guessed_thread);
  EXPECT_TRUE(timeline.processes[0].spans.empty());
}

TEST_F(TimelineTest, OfASpanWithoutAThreadAllThreadsAreTold) {
  sample_.add_span(silent_span(61, 5, 400), "checkout", 4711);  // another one runs at its end
  Timeline timeline = built(of_trace());
  ASSERT_EQ(timeline.processes[0].spans.size(), 1u);
  EXPECT_EQ(timeline.processes[0].other_threads, 1u);
  TimelineQuery query = of_trace();
  query.span = sample_span_id(61);
  timeline = built(query);
  ASSERT_EQ(timeline.processes[0].threads.size(), 2u);
  EXPECT_EQ(timeline.processes[0].threads[0].calls.size(), 1u) << "futex(); read() came later";
  EXPECT_EQ(timeline.processes[0].threads[1].events.size(), 1u);
  EXPECT_EQ(timeline.processes[0].other_threads, 0u);
}

TEST_F(TimelineTest, ACaptureThatDoesNotDecodeIsNamed) {
  Timeline timeline = built(of_trace());
  ASSERT_EQ(timeline.captures.size(), 2u);
  EXPECT_EQ(timeline.captures[0].problem, "");
  EXPECT_NE(timeline.captures[1].problem, "");
  EXPECT_EQ(timeline.processes[0].captures.size(), 1u);
}

TEST_F(TimelineTest, OneCaptureAndNoCapture) {
  TimelineQuery query = of_trace();
  query.capture = sample_capture_id(2);
  EXPECT_EQ(built(query).captures.size(), 1u);
  query.capture = sample_capture_id(9);
  EXPECT_EQ(refused(query), ErrorCode::kNotFound);
  EXPECT_EQ(refused(of_trace(7)), ErrorCode::kNotFound);
  EXPECT_EQ(built({.subject = {.capture = sample_capture_id(1)}}).processes.size(), 2u);
  EXPECT_EQ(refused({.subject = {.capture = sample_capture_id(9)}}), ErrorCode::kNotFound);
}

TEST_F(TimelineTest, ACaptureOfNoTraceIsShownWhole) {
  store::CaptureInfo info = sample_capture_info(3);
  info.trace_id = {};
  sample_.add_capture(info, capture::encode(sample_capture()));
  Timeline timeline = built({.subject = {.capture = info.id}});
  ASSERT_EQ(timeline.processes.size(), 1u);
  EXPECT_EQ(timeline.processes[0].threads.size(), 2u);
  EXPECT_EQ(timeline.processes[0].threads[0].events.size(), 3u);
}

TEST_F(TimelineTest, ACaptureOfNoTraceLeadsToTheRequestsThatItSaw) {
  capture::Capture content = sample_capture();
  content.threads[0].open = {
      {{sample_trace_id(8), sample_span_id(80)}, sample_monotonic(0) - 900 * kNanosPerSecond, 2, "GET /"},
      {{sample_trace_id(8), sample_span_id(81)}, sample_monotonic(500), 1, "look"},
      {{sample_trace_id(9), sample_span_id(90)}, sample_monotonic(600), 1, "else"}};
  store::CaptureInfo info = sample_capture_info(3);
  info.trace_id = {};
  sample_.add_capture(info, capture::encode(content));
  Timeline timeline = built({.subject = {.capture = info.id}});
  const TimelineThread& thread = timeline.processes.at(0).threads.at(0);
  ASSERT_EQ(thread.spans.size(), 3u);
  EXPECT_EQ(thread.spans[1].trace_id, sample_trace_id(8));
  EXPECT_EQ(thread.spans[1].parent_span_id, sample_span_id(80));
  EXPECT_TRUE(thread.spans[2].parent_span_id.is_zero()) << "it is another trace's";
  EXPECT_GT(timeline.begin_unix_nano, kSampleStart - 1'000 * kMilli) << "not what began long before";
  std::string json = json_of(timeline);
  EXPECT_NE(json.find("{\"trace_id\":\"" + sample_trace_id(8).hex() + "\",\"span_id\":\""), std::string::npos);
  std::string event = "\"trace_id\":\"" + sample_trace_id(9).hex() + "\",\"span_id\":\"" + sample_span_id(90).hex() +
                      "\",\"name\":\"lock.wanted\"";
  EXPECT_NE(json.find(event), std::string::npos) << json;
}

// The process died in the middle: no span of it has been stored, its open spans are all there is.
TEST_F(TimelineTest, SpansThatWereOpenStandForThemselves) {
  capture::Capture content = sample_capture();
  content.ended = true;
  TraceId trace = sample_trace_id(5);
  content.span_sets[1] = {{trace, sample_span_id(51)}};
  content.threads[0].open = {{{trace, sample_span_id(50)}, sample_monotonic(0), 2, "POST /pay"},
                             {{trace, sample_span_id(51)}, sample_monotonic(500), 1, "charge"}};
  store::CaptureInfo info = sample_capture_info(5);
  info.trace_id = trace;
  info.trigger = CaptureTrigger::kCrash;
  sample_.add_capture(info, capture::encode(content));
  Timeline timeline = built(of_trace(5));
  const TimelineThread& thread = timeline.processes.at(0).threads.at(0);
  ASSERT_EQ(thread.spans.size(), 2u);
  EXPECT_TRUE(thread.spans[1].open);
  EXPECT_EQ(thread.spans[1].operation, "charge");
  EXPECT_EQ(thread.spans[1].parent_span_id, sample_span_id(50));
  EXPECT_EQ(thread.spans[1].end_unix_nano, kSampleStart + 1'000 * kMilli) << "when it was captured";
  ASSERT_EQ(thread.events.size(), 1u);
  EXPECT_EQ(thread.events[0].span_id, sample_span_id(51));
}

TEST_F(TimelineTest, WithoutSpansTheRangeIsThatOfAllThreads) {
  capture::Capture content = sample_capture();
  content.threads[0].kernel_events.clear();
  content.kernel_complete_from_nano = 0;
  store::CaptureInfo info = sample_capture_info(3);
  info.trace_id = {};
  for (auto& thread : content.threads) thread.kernel_events.clear();
  content.threads.push_back({.tid = 9999});
  content.threads[2].add_event({.monotonic_nano = sample_monotonic(950'000), .tracepoint = 1}, {});
  sample_.add_capture(info, capture::encode(content));
  Timeline timeline = built({.subject = {.capture = info.id}});
  ASSERT_EQ(timeline.processes.at(0).threads.size(), 3u);
  EXPECT_EQ(timeline.begin_unix_nano, kSampleStart + kMilli) << "the first thread's first event";
  EXPECT_EQ(timeline.end_unix_nano, kSampleStart + 950 * kMilli) << "the last one's last";
}

TEST_F(TimelineTest, BeyondTheLimitItemsAreCounted) {
  TimelineQuery query = of_trace();
  query.most_items = 3;
  Timeline timeline = built(query);
  const TimelineThread& thread = timeline.processes[0].threads[0];
  EXPECT_EQ(thread.events.size(), 2u) << "events go first";
  EXPECT_EQ(thread.calls.size(), 1u);
  EXPECT_TRUE(thread.states.empty());
  EXPECT_GT(thread.left_out, 0u);
  EXPECT_NE(json_of(timeline).find("\"truncated\":true"), std::string::npos);
}

TEST_F(TimelineTest, BeyondTheLimitTheFirstAndTheLastOfEachThreadStay) {
  TimelineQuery query = of_trace();
  query.all = true;
  const Timeline whole = built(query);
  const auto& events = whole.processes[0].threads[0].events;
  ASSERT_EQ(events.size(), 3u);
  ASSERT_EQ(whole.processes[0].threads[1].events.size(), 1u);
  query.most_items = 3;
  const Timeline timeline = built(query);
  const TimelineThread& thread = timeline.processes[0].threads[0];
  ASSERT_EQ(thread.events.size(), 2u);
  EXPECT_EQ(thread.events[0].unix_nano, events.front().unix_nano);
  EXPECT_EQ(thread.events[1].unix_nano, events.back().unix_nano);
  EXPECT_EQ(timeline.processes[0].threads[1].events.size(), 1u) << "who has few keeps them";
  ASSERT_FALSE(thread.gaps.empty());
  EXPECT_EQ(thread.gaps[0].items, "events");
  EXPECT_EQ(thread.gaps[0].count, 1u);
  EXPECT_EQ(thread.gaps[0].begin_unix_nano, events[1].unix_nano);
  EXPECT_EQ(thread.gaps[0].end_unix_nano, events[1].unix_nano);
  EXPECT_NE(json_of(timeline).find("\"gaps\":[{\"items\":\"events\",\"count\":1,"), std::string::npos);
}

// Captures with everything that one may have, and times that no clock gives.
TEST(Timelines, WhateverACaptureSaysTheAnswersAreWhole) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    capture::Capture content = capture::testing::random_capture(seed, 20);
    store::MemoryStore spans;
    store::MemoryCaptures captures;
    store::CaptureInfo info = sample_capture_info(seed + 1);
    if (content.span_sets.size() > 1 && !content.span_sets[1].empty()) {
      info.trace_id = content.span_sets[1].front().trace_id;
    }
    auto writer = captures.begin(info);
    ASSERT_TRUE(writer.ok() && (*writer)->append(0, capture::encode(content)));
    ASSERT_EQ((*writer)->finish().outcome, store::AppendOutcome::kDurable);
    TimelineQuery query{.subject = {.capture = info.id}};
    for (bool all : {false, true}) {
      query.all = all;
      store::QueryBudget budget;
      auto json = run_timeline({spans, &captures}, query, budget);
      ASSERT_TRUE(json.ok()) << json.error().message;
      EXPECT_NO_THROW((void)boost::json::parse(*json)) << seed;
      EXPECT_EQ(json->find("\"problem\""), std::string::npos) << seed;
      auto bytes = run_perfetto({spans, &captures}, query, budget);
      perfetto::protos::Trace trace;
      ASSERT_TRUE(bytes.ok() && trace.ParseFromString(*bytes)) << seed;
    }
  }
}

TEST_F(TimelineTest, ABudgetEndsIt) {
  EXPECT_EQ(refused(of_trace(), 100), ErrorCode::kExhausted);
}

}  // namespace
}  // namespace fathom::query

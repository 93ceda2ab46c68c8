#include "node-agent/capture/capture_builder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <random>
#include <set>

#include "capture/decode.h"
#include "node-agent/detail/detail_reader.h"
#include "node-agent/detail/tick_window.h"
#include "node-agent/sources/client_events.h"
#include "node-agent/sources/kernel_events.h"
#include "node-agent/testing/detail_events.h"
#include "node-agent/testing/golden_detail.h"
#include "node-agent/testing/scripted_host.h"

namespace fathom::agent {
namespace {

using capture::FieldType;
using testing::detail_record;
using testing::kSecond;
using testing::raw;
using testing::ScriptedDetail;
using testing::sized;
using Losses = std::vector<std::pair<std::string, uint64_t>>;

constexpr uint64_t kPlenty = 1 << 30;

// What was made, as a server reads it.
struct ReadCapture {
  capture::Capture capture;
  bool truncated = false;
  bool crosses_clock_jump = false;
};

ReadCapture read(const Result<MadeCapture>& result) {
  const MadeCapture& made = *result;
  Result<capture::Capture> decoded = capture::decode(made.content);
  EXPECT_TRUE(decoded.ok()) << decoded.error().message;
  if (!decoded.ok()) return {};
  EXPECT_EQ(decoded->losses, made.losses);
  return {*std::move(decoded), made.truncated, made.crosses_clock_jump};
}

// What the agent has at hand when it makes a capture.
struct CaptureInput {
  explicit CaptureInput(TickTimes its_times) : times(std::move(its_times)) {}

  TickTimes times;
  CaptureFacts facts;
  const KernelSnapshot* kernel = nullptr;
  std::vector<OpenSpanOfThread> open;
  ThreadTable::Identify identify;
};

Result<MadeCapture> make_capture(CaptureInput input, const DetailSnapshot* events, const CaptureLimits& limits = {}) {
  CaptureBuilder builder(input.facts, input.times, std::move(input.identify), limits);
  builder.write_open_spans(std::move(input.open), pool::Clock::kMonotonic);
  if (events != nullptr) write_client_events(*events, builder);
  if (input.kernel != nullptr) write_kernel_events(*input.kernel, builder);
  return builder.finish();
}

// A pool whose ticks are nanoseconds, in a host that is up for 1000 s and more.
class CaptureBuilderTest : public ::testing::Test {
 protected:
  explicit CaptureBuilderTest(const testing::DetailPlan& plan = {}) : pool_(plan), clock_(host_) {
    testing::describe_numbered(pool_);
    testing::run(host_, clock_, 2 * kSecond);
    begin_ = host_.monotonic() - kSecond;
  }
  uint64_t at(uint64_t nano) const { return begin_ + nano; }
  void fill(uint32_t chunk, uint32_t tid, std::initializer_list<uint64_t> times) {
    pool_.claim(chunk, at(*times.begin()), tid);
    for (uint64_t time : times) ASSERT_TRUE(pool_.put(chunk, testing::numbered_record(time, at(time))));
  }
  CaptureInput input() {
    CaptureInput input(clock_.times());
    input.facts = {.begin_nano = begin_, .end_nano = at(kSecond), .pid = 42};
    return input;
  }
  ReadCapture make(CaptureInput input, const CaptureLimits& limits = {}, uint64_t budget = kPlenty) {
    DetailReader reader(testing::open_detail(pool_));
    const auto [begin_nano, end_nano] = std::pair(input.facts.begin_nano, input.facts.end_nano);
    snapshot_ =
        reader.snapshot(tick_window(input.times, pool_.header().clock, begin_nano, end_nano, at(kSecond)), budget);
    return read(make_capture(std::move(input), &snapshot_, limits));
  }
  ReadCapture make() { return make(input()); }
  std::vector<uint64_t> times_of(const capture::Thread& thread) const {
    std::vector<uint64_t> times;
    for (const capture::Event& event : thread.events) times.push_back(event.monotonic_nano - begin_);
    return times;
  }

  testing::ScriptedHost host_;
  ScriptedDetail pool_;
  TickClock clock_;
  uint64_t begin_ = 0;
  DetailSnapshot snapshot_;
};

using Times = std::vector<uint64_t>;

TEST_F(CaptureBuilderTest, EventsAreUnderTheirThreadsByTime) {
  fill(0, 9, {100, 300, 200});  // as a signal handler leaves them
  fill(1, 7, {150});
  pool_.seal(0, at(300));
  fill(2, 9, {400});
  ReadCapture made = make();
  const capture::Capture& capture = made.capture;
  ASSERT_EQ(capture.threads.size(), 2u);
  EXPECT_EQ(capture.threads[0].tid, 7u);
  EXPECT_EQ(times_of(capture.threads[0]), Times({150}));
  EXPECT_EQ(capture.threads[1].tid, 9u);
  EXPECT_EQ(times_of(capture.threads[1]), Times({100, 200, 300, 400}));
  const capture::Thread& thread = capture.threads[1];
  EXPECT_EQ(thread.values_of(thread.events[1])[0].natural(), 200u);
  ASSERT_EQ(capture.tracepoints.size(), 1u);
  EXPECT_EQ(capture.tracepoints[0].name, "numbered");
  EXPECT_EQ(capture.tracepoints[0].fields,
            (std::vector<capture::Field>{
                {"number", FieldType::kNatural}, {"fill", FieldType::kText}, {"sum", FieldType::kNatural}}));
  EXPECT_FALSE(made.truncated);
  EXPECT_FALSE(made.crosses_clock_jump);
  EXPECT_EQ(capture.pid, 42u);
  EXPECT_EQ(capture.kernel_complete_from_nano, 0u);
  EXPECT_EQ(capture.losses, Losses());
  EXPECT_EQ(unix_nano_at(capture, at(0)), clock_.unix_nano(pool::Clock::kMonotonic, at(0)));
}

TEST_F(CaptureBuilderTest, OnlyWhatLiesInTheWindow) {
  CaptureInput narrow = input();
  narrow.facts.begin_nano = at(200);
  narrow.facts.end_nano = at(400);
  fill(0, 9, {199, 200, 300, 400, 401});
  ReadCapture made = make(std::move(narrow));
  EXPECT_EQ(times_of(made.capture.threads.at(0)), Times({200, 300, 400}));
  EXPECT_EQ(read(make_capture(input(), nullptr)).capture.threads.size(), 0u) << "a program without events";
}

TEST_F(CaptureBuilderTest, AllTypesOfValues) {
  using pool::FieldType;
  pool_.describe(20, "all",
                 {{FieldType::kInt8, "a"},
                  {FieldType::kUint32, "b"},
                  {FieldType::kFloat, "c"},
                  {FieldType::kBool, "d"},
                  {FieldType::kString, "e"},
                  {FieldType::kBytes, "f"}});
  pool_.claim(0, at(1), 9);
  std::string payload = raw(int8_t{-3}) + raw(uint32_t{4}) + raw(2.5F) + raw(uint8_t{1}) + sized("text", true);
  pool_.put(0, detail_record(20, at(1), payload + sized(std::string_view("\0\1", 2))));
  pool_.put(0, testing::long_detail_record(20, at(2), payload));  // its end is missing
  ReadCapture made = make();
  const capture::Thread& thread = made.capture.threads.at(0);
  ASSERT_EQ(thread.events.size(), 2u);
  std::span<const capture::Value> values = thread.values_of(thread.events[0]);
  ASSERT_EQ(values.size(), 6u);
  EXPECT_EQ(values[0].integer(), -3);
  EXPECT_EQ(values[1].natural(), 4u);
  EXPECT_EQ(values[2].real(), 2.5);
  EXPECT_TRUE(values[3].truth());
  EXPECT_EQ(thread.text_of(values[4]), "text");
  EXPECT_TRUE(values[4].is_cut());
  EXPECT_EQ(thread.text_of(values[5]), std::string_view("\0\1", 2));
  EXPECT_FALSE(values[5].is_cut());
  EXPECT_EQ(made.capture.tracepoints.at(0).fields[5].type, capture::FieldType::kBytes);
  EXPECT_EQ(thread.events[1].values, 5u);
  EXPECT_EQ(made.capture.losses, (Losses{{"malformed_payloads", 1}}));
}

TEST_F(CaptureBuilderTest, SetsOfSpansAreSharedByEvents) {
  for (uint32_t chunk : {0U, 1U}) {
    pool_.claim(chunk, at(1), 9 + chunk);
    pool_.put(chunk, testing::numbered_record(0, at(1)));
    for (std::vector<uint8_t> spans : {std::vector<uint8_t>{1}, {1, 2}, {1}}) {
      pool_.put(chunk, testing::spans_record(at(2), spans));
      pool_.put(chunk, testing::numbered_record(1, at(2)));
      pool_.put(chunk, testing::numbered_record(1, at(2)));
    }
  }
  ReadCapture made = make();
  ASSERT_EQ(made.capture.span_sets.size(), 3u);
  EXPECT_EQ(made.capture.span_sets[2].size(), 2u);
  EXPECT_EQ(made.capture.span_sets[2][1].trace_id.bytes[5], 2u);
  for (const capture::Thread& thread : made.capture.threads) {
    std::vector<uint32_t> sets;
    for (const capture::Event& event : thread.events) sets.push_back(event.spans);
    EXPECT_EQ(sets, (std::vector<uint32_t>{0, 1, 1, 2, 2, 1, 1}));
  }
  CaptureLimits few{.most_spans_in_sets = 2};
  ReadCapture less = make(input(), few);
  EXPECT_EQ(less.capture.span_sets.size(), 2u);
  EXPECT_EQ(less.capture.losses, (Losses{{"over_limit_spans_events", 4}}));
  EXPECT_FALSE(less.capture.threads[0].events[3].spans_certain);
}

TEST_F(CaptureBuilderTest, ThreadsAndOpenSpansHaveTheNodesNumbersAndNames) {
  fill(0, 1, {100});
  CaptureInput described = input();
  described.identify = [](uint32_t tid) {
    return tid == 1 ? ThreadIdentity{4001, "main"} : ThreadIdentity{tid + 4000, ""};
  };
  capture::SpanRef span;
  span.span_id.bytes[0] = 5;
  described.open = {{1, at(50), span, 2, "GET /"}, {3, at(60), {}, 1, "inner"}};
  ReadCapture made = make(std::move(described));
  ASSERT_EQ(made.capture.threads.size(), 2u);
  EXPECT_EQ(made.capture.threads[0].tid, 4001u);
  EXPECT_EQ(made.capture.threads[0].name, "main");
  EXPECT_EQ(made.capture.threads[0].open, (std::vector<capture::OpenSpan>{{span, at(50), 2, "GET /"}}));
  EXPECT_EQ(made.capture.threads[0].events.size(), 1u);
  EXPECT_EQ(made.capture.threads[1].tid, 4003u);
  EXPECT_EQ(made.capture.threads[1].open.at(0).name, "inner");
}

// ---- the kernel

KernelSnapshot kernel_snapshot(uint64_t base) {
  KernelSnapshot snapshot;
  snapshot.threads = {{42, 42, "main"}, {42, 43, "worker"}};
  snapshot.complete_from_nano = base + 5;
  KernelEvent event{.kind = KernelEventKind::kSwitch, .reason = SwitchReason::kSleeps, .cpu = 1};
  event.monotonic_nano = base + 100;
  event.pid = 42, event.tid = 42, event.other_pid = 77, event.other_tid = 78, event.name = "postgres";
  snapshot.events.push_back(event);  // ours leaves
  event.monotonic_nano = base + 200;
  event.pid = 77, event.tid = 78, event.other_pid = 42, event.other_tid = 43;
  snapshot.events.push_back(event);  // ours comes
  event.monotonic_nano = base + 300;
  event.pid = 42, event.tid = 43, event.other_tid = 42, event.name = "main";
  snapshot.events.push_back(event);  // both are ours
  event = {.kind = KernelEventKind::kSyscall, .monotonic_nano = base + 400, .pid = 42, .tid = 42};
  event.syscall = 202, event.start_nano = base + 50, event.result = -11, event.arguments[1] = 9;
  snapshot.events.push_back(event);  // began before it was switched away
  event = {.kind = KernelEventKind::kUserFault, .monotonic_nano = base + 500, .pid = 77, .tid = 78};
  snapshot.events.push_back(event);  // another's
  return snapshot;
}

TEST_F(CaptureBuilderTest, KernelEventsAreUnderTheirThreads) {
  KernelSnapshot kernel = kernel_snapshot(begin_);
  kernel.losses.torn = 2;
  CaptureInput with_kernel = input();
  with_kernel.kernel = &kernel;
  ReadCapture made = make(std::move(with_kernel));
  EXPECT_EQ(made.capture.kernel_missing, "");
  EXPECT_EQ(made.capture.kernel_complete_from_nano, at(5));
  EXPECT_EQ(made.capture.losses, (Losses{{"kernel_torn", 2}}));
  ASSERT_EQ(made.capture.threads.size(), 2u);
  using Kind = capture::KernelEventKind;
  const capture::Thread& main = made.capture.threads[0];
  EXPECT_EQ(main.name, "main");
  ASSERT_EQ(main.kernel_events.size(), 3u);
  EXPECT_EQ(main.kernel_events[0].kind, Kind::kSyscall);
  EXPECT_EQ(main.kernel_events[0].monotonic_nano, at(50));
  EXPECT_EQ(main.kernel_events[0].end_nano, at(400));
  EXPECT_EQ(main.kernel_events[0].result, -11);
  EXPECT_EQ(main.kernel_events[0].arguments[1], 9u);
  EXPECT_EQ(main.kernel_events[1].kind, Kind::kSwitchedOut);
  EXPECT_EQ(main.kernel_events[1].reason, capture::SwitchReason::kSleeps);
  EXPECT_EQ(main.kernel_events[1].other_name, "postgres");
  EXPECT_EQ(main.kernel_events[2].kind, Kind::kSwitchedIn);
  EXPECT_EQ(main.kernel_events[2].other_name, "worker");
  EXPECT_EQ(main.kernel_events[2].other_tid, 43);
  const capture::Thread& worker = made.capture.threads[1];
  ASSERT_EQ(worker.kernel_events.size(), 2u);
  EXPECT_EQ(worker.kernel_events[0].kind, Kind::kSwitchedIn);
  EXPECT_EQ(worker.kernel_events[0].other_name, "postgres");
  EXPECT_EQ(worker.kernel_events[1].kind, Kind::kSwitchedOut);
  EXPECT_EQ(worker.kernel_events[1].other_name, "main");
}

// ---- what is missing

TEST_F(CaptureBuilderTest, SaysFromWhenOnItIsComplete) {
  fill(0, 9, {100, 200});
  pool_.seal(0, at(200));
  EXPECT_EQ(make().capture.events_complete_from_nano, at(0)) << "nothing was overwritten";
  fill(0, 9, {300, 400});
  pool_.seal(0, at(400));
  EXPECT_EQ(make().capture.events_complete_from_nano, at(201));
  fill(1, 9, {500});
  pool_.seal(1, at(500));
  ReadCapture little = make(input(), {}, 60);
  EXPECT_EQ(little.capture.events_complete_from_nano, at(401)) << "as much as the budget allows";
  EXPECT_TRUE(little.truncated);
  pool_.header().overwritten_ticks = UINT64_MAX - 1;
  EXPECT_EQ(make().capture.events_complete_from_nano, at(kSecond)) << "a liar's";
}

TEST_F(CaptureBuilderTest, OpenSpansBeyondTheLimitAreCounted) {
  CaptureInput with_spans = input();
  with_spans.open.resize(5);
  EXPECT_EQ(make(with_spans, {.most_open_spans = 3}).capture.losses, (Losses{{"over_limit_open_spans", 2}}));
}

TEST_F(CaptureBuilderTest, ThreadsBeyondTheLimitAreCounted) {
  for (uint32_t chunk = 0; chunk < 6; ++chunk) fill(chunk, 100 + chunk, {chunk + 1, chunk + 10});
  ReadCapture made = make(input(), {.most_threads = 4});
  EXPECT_TRUE(made.truncated);
  EXPECT_EQ(made.capture.threads.size(), 4u);
  EXPECT_EQ(made.capture.losses, (Losses{{"over_limit_threads_events", 4}}));
}

// ---- clocks

class TickingCaptureTest : public CaptureBuilderTest {
 protected:
  TickingCaptureTest() : CaptureBuilderTest({.clock = pool::Clock::kTsc}) {}
  void event(uint32_t chunk) {
    if (pool_.state(chunk) != pool::kDetailOwned) pool_.claim(chunk, host_.ticks(), 9);
    pool_.put(chunk, testing::numbered_record(host_.monotonic(), host_.ticks()));
  }
  ReadCapture make_since(uint64_t nano) {
    CaptureInput since = input();
    since.facts.begin_nano = nano;
    since.facts.end_nano = host_.monotonic();
    return make(std::move(since));
  }
};

TEST_F(TickingCaptureTest, TicksBecomeNanoseconds) {
  uint64_t began = host_.monotonic();
  for (int i = 0; i < 40; ++i) {
    event(0);
    testing::run(host_, clock_, 50 * testing::kMilli);
  }
  ReadCapture made = make_since(began + kSecond - 10);
  const capture::Thread& thread = made.capture.threads.at(0);
  EXPECT_EQ(thread.events.size(), 20u);
  for (const capture::Event& event : thread.events) {
    int64_t off = static_cast<int64_t>(event.monotonic_nano - thread.values_of(event)[0].natural());
    EXPECT_LE(std::abs(off), 2);
  }
}

TEST_F(TickingCaptureTest, ACaptureAcrossAJumpIsMarkedAndHasBothSides) {
  for (bool reset : {false, true}) {
    uint64_t began = host_.monotonic();
    uint32_t chunk = reset ? 2 : 0;
    event(chunk);
    pool_.seal(chunk, host_.ticks());
    testing::run(host_, clock_, kSecond);
    host_.sleep(3600 * kSecond, !reset);
    if (reset) host_.reset_counter(1000);
    testing::run(host_, clock_, kSecond);
    event(chunk + 1);
    pool_.seal(chunk + 1, host_.ticks());
    testing::run(host_, clock_, kSecond);
    ReadCapture made = make_since(began - 10);
    EXPECT_TRUE(made.crosses_clock_jump);
    EXPECT_TRUE(crosses_clock_jump(made.capture));
    // Of a counter that began anew, ticks of before look like ones to come.
    EXPECT_EQ(made.capture.threads.at(0).events.size(), reset ? 1u : 2u);
    EXPECT_FALSE(make_since(host_.monotonic() - kSecond / 2).crosses_clock_jump);
  }
}

// ---- what the real client wrote

TEST(CaptureOfAProgram, HasAllThatItsPoolHas) {
  Result<DetailFile> opened = DetailFile::open(testing::golden_detail(FATHOM_TESTDATA "/detail-v1"), 0);
  ASSERT_TRUE(opened.ok());
  DetailSnapshot snapshot = DetailReader(*std::move(opened)).snapshot({}, kPlenty);
  size_t events = 0;
  std::set<std::string> names;
  decode(snapshot, [&](const EventView& event) {
    ++events;
    names.insert(event.tracepoint->name);
  });
  testing::ScriptedHost host;
  TickClock clock(host);
  testing::run(host, clock, kSecond);
  CaptureInput input(clock.times());
  input.facts.end_nano = UINT64_MAX;
  ReadCapture made = read(make_capture(std::move(input), &snapshot));
  ASSERT_EQ(made.capture.threads.size(), 1u);
  const capture::Thread& thread = made.capture.threads[0];
  EXPECT_EQ(thread.events.size(), events);
  EXPECT_EQ(made.capture.tracepoints.size(), names.size());
  EXPECT_GT(made.capture.span_sets.size(), 1u);
  EXPECT_EQ(made.capture.losses, (Losses{{"cut_texts", 1}}));
  EXPECT_TRUE(std::ranges::is_sorted(thread.events, {}, &capture::Event::monotonic_nano));
}

// ---- hostile memory

TEST_F(CaptureBuilderTest, WhateverIsInThePoolACaptureComesOfIt) {
  std::mt19937_64 random(17);
  size_t found = 0;
  for (int round = 0; round < 60; ++round) {
    for (uint32_t chunk = 0; chunk < 16; ++chunk) {
      uint32_t epoch = pool_.claim(chunk, at(random() % kSecond), static_cast<uint32_t>(random() % 4));
      if (epoch == 0) continue;
      char* bytes = pool_.chunk(chunk);
      // Mostly records of wild kinds and sizes, with wild bytes in them.
      for (uint32_t i = 0; i + 8 <= pool_.chunk_bytes(chunk); i += 8) {
        uint64_t word = random() >> random() % 64;
        std::memcpy(bytes + i, &word, sizeof word);
        if (random() % 6 == 0) std::memcpy(bytes + i, &epoch, sizeof epoch);
        uint64_t head = at(random() % kSecond) | (random() % 24) << 52 | (random() % 16) << 48;
        if (random() % 6 == 0) std::memcpy(bytes + i, &head, sizeof head);
      }
      pool_.entry(chunk).used.store(pool_.chunk_bytes(chunk));
      uint64_t owned = pool::pack_detail(epoch, pool::kDetailOwned);
      pool_.entry(chunk).last_ticks.store(random() >> random() % 64);
      if (random() % 2 == 0)
        pool_.entry(chunk).state.compare_exchange_strong(owned, pool::pack_detail(epoch, pool::kDetailSealed));
    }
    ReadCapture made = make();
    found += made.capture.threads.size();
    for (uint32_t chunk = 0; chunk < 16; ++chunk) pool_.seal(chunk, at(kSecond));
  }
  EXPECT_GT(found, 60u) << "nothing was ever taken for an event: this test is none";
}

}  // namespace
}  // namespace fathom::agent

// Tests what is captured or held of a trace's other processes on this node, also after an early capture.
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>

#include "base/metrics.h"
#include "node-agent/testing/capture_service_fixture.h"
#include "node-agent/triggers/capture_metrics.h"

namespace fathom::agent {
namespace {

using testing::CaptureServiceTest;
using testing::detail_record;
using testing::kMilli;
using testing::make_record;
using testing::owner_record;
using testing::ScriptedDetail;
using testing::ScriptedPool;
using testing::sized;
using testing::SocketClient;

// The fixture simulates the program "shop"; this adds "stock", which shop calls.
class OtherProcessesTest : public CaptureServiceTest {
 protected:
  void begin_with_two_programs() {
    begin_with_program();
    std::memset(stock_pool_.header().process_id, 0x43, sizeof stock_pool_.header().process_id);
    std::memset(stock_detail_.header().process_id, 0x43, sizeof stock_detail_.header().process_id);
    stock_pool_.set_resource({{"service.name", "stock"}, {"service.namespace", "test"}});
    stock_note_ = stock_detail_.describe(16, "note", {{pool::FieldType::kString, "word"}});
    write_stock_event(0, "here");
    stock_client_ = std::make_unique<SocketClient>(options_.listener.path);
    ASSERT_EQ(offer(*stock_client_, stock_pool_), pool::Verdict::kTaken);
    ASSERT_EQ(offer_detail(*stock_client_, stock_detail_), pool::Verdict::kTaken);
    pass_ticks(2);
    stock_pool_.claim(0);
  }
  void write_stock_event(uint32_t chunk, const std::string& word) {
    const uint64_t now = now_monotonic_nano();
    stock_detail_.claim(chunk, now);
    stock_detail_.put(chunk, owner_record(1, now));
    stock_detail_.put(chunk, detail_record(16, now, sized(word)));
  }
  // Ends a span of stock with a parent in stock, now; returns when the agent has stored it.
  void finish_stock_span(uint64_t number, uint64_t start_nano) {
    std::string record = make_record(number, "fetch", {}, start_nano, now_monotonic_nano());
    record[offsetof(pool::SpanRecord, parent_span_id)] = 1;
    ASSERT_TRUE(stock_pool_.put(0, record));
    ASSERT_TRUE(until([&] { return outbox_.stored.contains(number); }));
  }
  // A trace is held, and requested before its capture is made.
  void must_request_while_it_is_made() {
    begin_with_program();
    finish_span(70, now_monotonic_nano() - 20 * kMilli);
    ASSERT_TRUE(until([&] { return outbox_.stored.contains(70); }));
    CaptureRequest hold = request_;
    hold.hold_nano = kNanosPerMinute;
    EXPECT_EQ(ask(hold).skipped, "");
    EXPECT_TRUE(ask(request_).capture_ids.empty()) << "it is not made yet";
  }
  // A minute began a second ago; it lasts until the test moves the wall clock.
  void use_long_minute() {
    ahead_nano_ = kNanosPerMinute + kNanosPerSecond - now_monotonic_nano() % kNanosPerMinute;
    capture_options_.provisional.slowest.per_minute = 1;
    capture_options_.provisional.minute_nano = kNanosPerMinute;
    capture_options_.provisional.calendar_ahead_nano = [this] { return ahead_nano_; };
  }
  bool end_minute_until_captures(size_t count) {
    return until([&] {
      ahead_nano_ += kNanosPerSecond;  // not more at once, which would be a jump
      return captures_.captures.size() >= count;
    });
  }
  bool until_announced(uint64_t number) {
    return until(
        [&] { return !captures_.announced.empty() && captures_.announced.back().trace_id == trace_of(number); });
  }
  static Gauge& held_bytes() { return gauge("fathom_agent_held_capture_bytes", ""); }

  uint64_t ahead_nano_ = 0;
  ScriptedPool stock_pool_{4, pool::Clock::kMonotonic, -1, 16};
  const CaptureRequest request_{.trigger = CaptureTrigger::kRemote, .trace_id = trace_of(70)};
  ScriptedDetail stock_detail_;
  uint32_t stock_note_ = 0;
  std::unique_ptr<SocketClient> stock_client_;
};

TEST_F(OtherProcessesTest, OfWhatIsCapturedTheOthersOfThisNodeAreCapturedToo) {
  begin_with_two_programs();
  const uint64_t start = begun_nano_;
  finish_stock_span(71, start);
  finish_span(72, start - 1 * kMilli, 2);
  ASSERT_TRUE(until_captures(2));
  EXPECT_EQ(captures_.triggers(), (std::vector<CaptureTrigger>{CaptureTrigger::kError, CaptureTrigger::kRemote}));
  EXPECT_EQ(captures_.captures[0].begin.service, "shop");
  EXPECT_EQ(captures_.captures[1].begin.service, "stock");
  EXPECT_EQ(captures_.captures[1].begin.trace_id, trace_of(71));
  EXPECT_NE(captures_.content(1).reason.find("error (work)"), std::string::npos) << captures_.content(1).reason;
  EXPECT_LE(captures_.content(1).begin_nano, start);
  EXPECT_EQ(captures_.texts(1), std::vector<std::string>{"here"});
  pass_ticks(5);
  EXPECT_EQ(captures_.captures.size(), 2u) << "each once";
}

// The agent reads a program's spans some hundred milliseconds after they end.
TEST_F(OtherProcessesTest, ASpanThatBecomesKnownJustAfterTheCaptureIsCapturedToo) {
  begin_with_two_programs();
  const uint64_t start = begun_nano_;
  finish_span(72, start - 1 * kMilli, 2);
  ASSERT_TRUE(until_captures(1));
  finish_stock_span(71, start);
  ASSERT_TRUE(until_captures(2));
  EXPECT_EQ(captures_.captures[1].begin.service, "stock");
  EXPECT_EQ(captures_.captures[1].begin.trigger, CaptureTrigger::kRemote);
  EXPECT_EQ(captures_.texts(1), std::vector<std::string>{"here"});
}

TEST_F(OtherProcessesTest, ASpanThatBeginsAfterTheCapturesWindowIsNotCaptured) {
  begin_with_two_programs();
  finish_span(72, now_monotonic_nano() - 1 * kMilli, 2);
  ASSERT_TRUE(until_captures(1));
  const uint64_t later = now_monotonic_nano() + 50 * kMilli;
  ASSERT_TRUE(until([&] { return now_monotonic_nano() > later; }));
  finish_stock_span(71, later);
  const uint64_t looked_again = now_monotonic_nano() + CaptureRequests::kSpansKnownNano;
  ASSERT_TRUE(until([&] { return now_monotonic_nano() > looked_again; }));
  EXPECT_EQ(captures_.captures.size(), 1u);
}

TEST_F(OtherProcessesTest, ASpanThatBecomesKnownJustAfterARequestIsCapturedToo) {
  begin_with_two_programs();
  const uint64_t start = begun_nano_;
  EXPECT_EQ(ask(request_).skipped, "this node has nothing of it");
  finish_stock_span(71, start);
  ASSERT_TRUE(until_captures(1));
  EXPECT_EQ(captures_.captures[0].begin.service, "stock");
}

TEST_F(OtherProcessesTest, AnOverdueSpansRestIsThatOfTheOthersToo) {
  begin_with_two_programs();
  threshold(50 * kMilli);
  const uint64_t start = now_monotonic_nano();
  pool_.begin_span(0, 30, "work", start);
  stock_pool_.begin_span(0, 31, "fetch", start);
  ASSERT_TRUE(until_captures(2));
  ASSERT_EQ(captures_.triggers(), (std::vector<CaptureTrigger>{CaptureTrigger::kOverdue, CaptureTrigger::kRemote}));
  const uint64_t first_end = captures_.content(1).end_nano;
  // Then it begins another span, which was not known before.
  stock_pool_.end_span(0);
  finish_stock_span(31, start);
  const uint64_t last = now_monotonic_nano();
  finish_stock_span(32, last);
  const uint64_t end = now_monotonic_nano();
  pool_.end_span(0);
  finish_span(30, start);
  ASSERT_TRUE(until_captures(4));
  EXPECT_EQ(captures_.captures[2].begin.trigger, CaptureTrigger::kSlow);
  EXPECT_EQ(captures_.captures[3].begin.service, "stock");
  EXPECT_LE(captures_.content(3).begin_nano, first_end) << "nothing is missing";
  EXPECT_GT(captures_.content(3).begin_nano, start) << "only the rest";
  EXPECT_GE(captures_.content(3).end_nano, last);
  EXPECT_LE(captures_.content(3).end_nano, end + 20 * kMilli);
}

TEST_F(OtherProcessesTest, WhatMayBeAmongTheSlowestIsHeldOfTheOthersUntilItIsChosen) {
  use_long_minute();
  begin_with_two_programs();
  held_bytes().set(0);
  const uint64_t start = begun_nano_;
  finish_stock_span(71, start);
  finish_request(70, start - 50 * kMilli);
  ASSERT_TRUE(until_announced(70));
  ASSERT_TRUE(until([&] { return held_bytes().value() > 0; }));
  EXPECT_TRUE(captures_.captures.empty());
  write_stock_event(1, "later");
  ASSERT_TRUE(end_minute_until_captures(2));
  EXPECT_EQ(captures_.triggers(), (std::vector<CaptureTrigger>{CaptureTrigger::kSlow, CaptureTrigger::kRemote}));
  EXPECT_EQ(captures_.captures[1].begin.service, "stock");
  EXPECT_EQ(captures_.texts(1), std::vector<std::string>{"here"}) << "as it was when it was held";
  EXPECT_LE(captures_.content(1).begin_nano, start - 50 * kMilli) << "the request may wait for stock before its span";
  pass_ticks(5);
  EXPECT_EQ(captures_.captures.size(), 2u);
}

// The requests come from the collector, as for a slow request on another node.
TEST_F(OtherProcessesTest, ACandidateThatIsHeldIsNotLostWithItsPlace) {
  use_long_minute();
  begin_with_program();
  finish_request(70, begun_nano_);
  ASSERT_TRUE(until_announced(70));
  CaptureRequest request{.trigger = CaptureTrigger::kRemote, .trace_id = trace_of(70), .hold_nano = kNanosPerMinute};
  EXPECT_EQ(ask(request).skipped, "");
  finish_request(80, begun_nano_ - 60 * kMilli);
  ASSERT_TRUE(until_announced(80));
  write_event(1, "later");
  request.hold_nano = 0;
  const CaptureAnswer answer = ask(request);
  ASSERT_EQ(answer.capture_ids.size(), 1u) << answer.skipped;
  EXPECT_EQ(captures_.captures.at(0).begin.trigger, CaptureTrigger::kRemote);
  EXPECT_EQ(captures_.captures[0].begin.trace_id, trace_of(70));
  EXPECT_EQ(captures_.texts(0), std::vector<std::string>{"before"}) << "as it was when it was made";
}

TEST_F(OtherProcessesTest, WhatIsHeldAndStillBeingMadeIsNotCapturedTwice) {
  std::atomic<bool> goes_on = false;
  encode_ = [&](const CaptureJob& job, const TickTimes& times) {
    goes_on.wait(false);
    return encode_capture(job, times);
  };
  must_request_while_it_is_made();
  goes_on = true;
  goes_on.notify_all();
  ASSERT_TRUE(until_captures(1));
  pass_ticks(5);
  EXPECT_EQ(captures_.captures.size(), 1u);
}

TEST_F(OtherProcessesTest, WhatIsHeldAndFailsIsCapturedWhenItIsRequestedAgain) {
  std::atomic<bool> goes_on = false, fails = true;
  encode_ = [&](const CaptureJob& job, const TickTimes& times) -> Result<MadeCapture> {
    goes_on.wait(false);
    if (fails) return exhausted("no memory");
    return encode_capture(job, times);
  };
  must_request_while_it_is_made();
  const Counter& failed = skipped_counter(CaptureTrigger::kRemote, SkipReason::kFailed);
  const uint64_t before = failed.value();
  goes_on = true;
  goes_on.notify_all();
  ASSERT_TRUE(until([&] { return failed.value() > before; }));
  fails = false;
  EXPECT_EQ(ask(request_).capture_ids.size(), 1u) << "the window counts as captured only if its capture is made";
}

}  // namespace
}  // namespace fathom::agent

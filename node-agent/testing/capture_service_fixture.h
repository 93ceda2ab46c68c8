// CaptureServiceTest: a CaptureService beside an agent on one loop, with a program that the test plays. Thread safety:
// none.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "node-agent/testing/agent_fixture.h"
#include "node-agent/testing/fake_capture_outbox.h"
#include "node-agent/testing/usual_sources.h"
#include "node-agent/triggers/capture_service.h"
#include "node-agent/triggers/encode_capture.h"

namespace fathom::agent::testing {

// Pools whose ticks are CLOCK_MONOTONIC's nanoseconds, so that the service's real clock and the agent's scripted one
// agree on them.
class CaptureServiceTest : public AgentTest {
 protected:
  explicit CaptureServiceTest(std::unique_ptr<Source> source = nullptr) : sources_(usual_sources(std::move(source))) {
    pool_.set_resource({{"service.name", "shop"}, {"service.namespace", "test"}});
    // A minute lasts 1 ns: each request is the slowest of its own minute, which is over when the request ends.
    capture_options_.provisional.minute_nano = 1;
    capture_options_.provisional.slowest.minutes = uint64_t{1} << 62;  // or each request would be too late
    capture_options_.provisional.copy_after_nano = 0;
    capture_options_.provisional.close_after_nano = 0;
  }
  ~CaptureServiceTest() override {
    agent_.reset();
    service_.reset();
  }
  void begin(std::vector<InheritedFd> inherited = {}) {
    begun_nano_ = now_monotonic_nano();
    service_ = std::make_unique<CaptureService>(loop_, capture_options_, host_clock_, sources_, encode_, captures_);
    options_.observer = service_.get();
    options_.drain.finished_spans = &service_->finished_spans();
    must_start(std::move(inherited));
    service_->set_agent(agent_.get());
  }
  void begin_with_program() {
    begin();
    write_event(0, "before");
    client_ = std::make_unique<SocketClient>(options_.listener.path);
    ASSERT_EQ(offer(*client_, pool_), pool::Verdict::kTaken);
    ASSERT_EQ(offer_detail(*client_, detail_), pool::Verdict::kTaken);
    ASSERT_TRUE(until([&] { return !agent_->details().empty() && agent_->details()[0].service == "shop"; }));
    pass_ticks(2);
  }
  // Writes each event into its own chunk.
  void write_event(uint32_t chunk, const std::string& word) {
    if (chunk == 0) note_ = detail_.describe(16, "note", {{pool::FieldType::kString, "word"}});
    uint64_t now = now_monotonic_nano();
    detail_.claim(chunk, now);
    detail_.put(chunk, owner_record(1, now));
    detail_.put(chunk, detail_record(16, now, sized(word)));
  }
  void threshold(uint64_t nano) { service_->thresholds({true, {{"test", "shop", "work", 1, nano}}}); }
  // Writes a finished span, with a parent in the same program, into the pool.
  void finish_span(uint64_t number, uint64_t start_nano, uint8_t status = 0) {
    std::string record = make_record(number, "work", {}, start_nano, now_monotonic_nano());
    record[offsetof(pool::SpanRecord, status)] = static_cast<char>(status);
    record[offsetof(pool::SpanRecord, parent_span_id)] = 1;
    put(record);
  }
  void finish_request(uint64_t number, uint64_t start_nano) {
    put(make_record(number, "work", {}, start_nano, now_monotonic_nano()));
  }
  void put(const std::string& record) {
    if (pool_.state(0) == pool::kFree) pool_.claim(0);
    ASSERT_TRUE(pool_.put(0, record));
  }
  bool until_captures(size_t count) {
    return until([&] { return captures_.captures.size() >= count; });
  }
  static TraceId trace_of(uint64_t number) {
    TraceId id;
    uint64_t trace = number / 10 + 1;
    std::memcpy(id.bytes.data(), &trace, sizeof trace);
    return id;
  }
  CaptureAnswer ask(CaptureRequest request) {
    std::optional<CaptureAnswer> answer;
    service_->capture(std::move(request), [&](CaptureAnswer given) { answer = std::move(given); });
    EXPECT_TRUE(until([&] { return answer.has_value(); }));
    return answer.value_or(CaptureAnswer{});
  }

  HostClock host_clock_;
  CaptureServiceOptions capture_options_;
  const Sources sources_;
  CaptureWorker::Encode encode_ = encode_capture;
  FakeCaptureOutbox captures_;
  ScriptedPool pool_{4, pool::Clock::kMonotonic, -1, 16};
  ScriptedDetail detail_;
  uint64_t begun_nano_ = 0;  // a span that began then has all events in its window, however slow the machine is
  uint32_t note_ = 0;        // where the table describes it
  std::unique_ptr<SocketClient> client_;
  std::unique_ptr<CaptureService> service_;
};

}  // namespace fathom::agent::testing

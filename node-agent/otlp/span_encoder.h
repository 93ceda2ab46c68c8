// SpanEncoder: spans of one program, as they come, into the bytes of one ExportTraceServiceRequest.
//
// Purpose: the one place that turns records into OTLP: one resource, one scope ("fathom"), spans with times of the
// calendar. Written once into a small buffer that stays in the processor's cache, and moved from there: no allocation
// per span. Thread safety: none, the agent's loop has one. Ownership: of the bytes until finish(). Errors: span() is
// false for a record without ids; parts of a span that make no sense are left out and counted as malformed items.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/protobuf_writer.h"
#include "node-agent/clock/tick_clock.h"
#include "node-agent/pool/losses.h"
#include "node-agent/pool/pool_reader.h"
#include "node-agent/pool/record.h"
#include "node-agent/triggers/finished_spans.h"

namespace fathom::agent {

class SpanEncoder : public SpanSink {
 public:
  // `finished`: also told of every span; null: nobody.
  SpanEncoder(TickClock& clock, AgentLosses& losses, FinishedSpans* finished = nullptr);

  // `resource`: of encode_resource(). `expected_bytes`: a guess of what finish() will give.
  void begin(pool::Clock ticks, std::string_view resource, size_t expected_bytes);
  bool span(const SpanRecordView& span) override;
  std::string finish();
  // How long ago the span ended that ended first of those since begin().
  uint64_t oldest_age_nano();

  // How many bytes of OTLP a record can become: no item grows by more than half.
  static constexpr size_t most_bytes(size_t record_bytes) { return record_bytes + record_bytes / 2 + 64; }

 private:
  struct Times {
    uint64_t start_ticks_nano;  // the program's clock as CLOCK_MONOTONIC
    uint64_t start_unix_nano;
    uint64_t end_ticks_nano;
  };

  void flush();
  void write(const SpanRecordView& span);
  void write_times(const pool::SpanRecord& head);
  void write_items(std::string_view items, const pool::SpanRecord& head);
  bool write_attribute(uint32_t field, const Item& item);
  void write_event(const Item& event, std::string_view behind);
  void write_link(const Item& link, std::string_view behind);
  void write_details(uint32_t field, std::string_view behind);
  void write_status(uint8_t code, std::string_view message);
  uint64_t unix_nano_of(uint64_t ticks) const;

  TickClock& clock_;
  AgentLosses& losses_;
  FinishedSpans* const finished_;
  pool::Clock ticks_ = pool::Clock::kTsc;
  Times times_{};
  uint64_t oldest_end_unix_nano_ = UINT64_MAX;
  std::string out_;
  size_t resource_spans_begin_ = 0;
  size_t scope_spans_begin_ = 0;
  std::unique_ptr<char[]> buffer_;
  WireWriter writer_;
};

// A pool's resource (records of key and value) as the bytes of OTLP's Resource. What does not fit its length is left
// out.
std::string encode_resource(std::string_view pool_resource);
// One value of it; empty when there is none.
std::string value_in_resource(std::string_view pool_resource, std::string_view key);

}  // namespace fathom::agent

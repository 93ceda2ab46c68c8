// SpanEncoder: encodes spans of one program, as they are read, into one ExportTraceServiceRequest.
//
// Purpose: the one place that turns records into OTLP: one resource, one scope ("fathom"), spans with wall-clock times
// and with the node's number of their thread (base/span_threads.h). Spans are encoded in a small buffer that stays in
// the processor's cache, and moved from there: no allocation per span. Thread safety: none, the agent's loop has one.
// Ownership: of the bytes until finish(). Errors: span() is false for a record without ids. Malformed parts of a span
// are left out and counted as malformed items; threads whose number is not known are left out and counted.
#pragma once

#include <sys/types.h>

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/protobuf_writer.h"
#include "node-agent/clock/tick_clock.h"
#include "node-agent/otlp/span_redactor.h"
#include "node-agent/pool/losses.h"
#include "node-agent/pool/pool_reader.h"
#include "node-agent/pool/record.h"
#include "node-agent/triggers/finished_spans.h"

namespace fathom::agent {

class SpanEncoder : public SpanSink {
 public:
  // `finished`: also receives every span; may be null.
  SpanEncoder(TickClock& clock, AgentLosses& losses, FinishedSpans* finished = nullptr);

  // Returns the node's number of a thread of the program; nothing: not known.
  using NodeTid = std::function<std::optional<uint32_t>(uint32_t program_tid)>;

  // `resource`: from encode_resource(). `expected_bytes`: a guess of the size of the result. `node_tid`: called until
  // finish(); without it, spans name no threads.
  void begin(pool::Clock ticks, std::string_view resource, size_t expected_bytes, NodeTid node_tid = {});
  // For the following spans; null: they are encoded as they are.
  void redact(std::shared_ptr<const Redaction> rules) { redactor_.use(std::move(rules)); }
  bool span(const SpanRecordView& span) override;
  std::string finish();
  // The time since the earliest end of the spans since begin().
  uint64_t oldest_age_nano();

  // The most bytes of OTLP that a record can become: no item grows by more than half; the 72 bytes of a record's head
  // become at most 113, including the thread.
  static constexpr size_t most_bytes(size_t record_bytes) { return record_bytes + record_bytes * 5 / 8 + 64; }

 private:
  struct Times {
    uint64_t start_ticks_nano;  // the program's clock as CLOCK_MONOTONIC
    uint64_t start_unix_nano;
    uint64_t end_ticks_nano;
  };

  void flush();
  void encode(const SpanRecordView& span);
  void write(const SpanRecordView& span);
  void write_times(const pool::SpanRecord& head);
  void write_items(const SpanRecordView& span);
  bool write_own_attribute(const Item& item);
  bool write_attribute(uint32_t field, const Item& item);
  void write_thread(std::string_view key, uint64_t program_tid);
  uint32_t node_tid_of(uint64_t program_tid);
  void write_event(const Item& event, std::string_view behind);
  void write_link(const Item& link, std::string_view behind);
  void write_details(uint32_t field, std::string_view behind);
  void write_status(uint8_t code, std::string_view message);
  uint64_t unix_nano_of(uint64_t ticks) const;

  TickClock& clock_;
  AgentLosses& losses_;
  FinishedSpans* const finished_;
  SpanRedactor redactor_;
  Counter& without_thread_;
  pool::Clock ticks_ = pool::Clock::kTsc;
  Times times_{};
  NodeTid node_tid_;
  uint64_t asked_tid_ = 0;  // the last lookup: spans of a chunk have the same thread
  uint32_t known_tid_ = 0;
  uint64_t oldest_end_unix_nano_ = UINT64_MAX;
  std::string out_;
  size_t resource_spans_begin_ = 0;
  size_t scope_spans_begin_ = 0;
  std::unique_ptr<char[]> buffer_;
  WireWriter writer_;
};

// Encodes a pool's resource (records of key and value) as OTLP's Resource. Leaves out records whose lengths do not fit,
// and the attributes of base/process_attributes.h, which only the agent knows.
std::string encode_resource(std::string_view pool_resource);

// The process and the node of a pool, as captures name them.
struct NodeProcess {
  std::array<uint8_t, 16> node_id{};  // zeros: not known
  pid_t pid = 0;                      // the node's number; 0: not known
};
// Adds the attributes of base/process_attributes.h if both are known.
void append_process(std::string& resource, const NodeProcess& process);
inline constexpr size_t kMostProcessBytes = 96;  // that append_process() adds
// The value of `key` in a pool's resource; empty: there is none.
std::string value_in_resource(std::string_view pool_resource, std::string_view key);

}  // namespace fathom::agent

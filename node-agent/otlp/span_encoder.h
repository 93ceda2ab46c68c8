// SpanEncoder: spans of one program, as they come, into the bytes of one ExportTraceServiceRequest.
//
// Purpose: the one place that turns records into OTLP: one resource, one scope ("fathom"), spans with times of the
// calendar and with their thread (base/span_threads.h) by the node's number. Written once into a small buffer that
// stays in the processor's cache, and moved from there: no allocation per span. Thread safety: none, the agent's loop
// has one. Ownership: of the bytes until finish(). Errors: span() is false for a record without ids; parts of a span
// that make no sense are left out and counted as malformed items, threads without a number are left out and counted.
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
#include "node-agent/pool/losses.h"
#include "node-agent/pool/pool_reader.h"
#include "node-agent/pool/record.h"
#include "node-agent/triggers/finished_spans.h"

namespace fathom::agent {

class SpanEncoder : public SpanSink {
 public:
  // `finished`: also told of every span; null: nobody.
  SpanEncoder(TickClock& clock, AgentLosses& losses, FinishedSpans* finished = nullptr);

  // The node's number of a thread of the program; nothing: not known.
  using NodeTid = std::function<std::optional<uint32_t>(uint32_t program_tid)>;

  // `resource`: of encode_resource(). `expected_bytes`: a guess of what finish() will give. `node_tid`: called until
  // finish(); without it, spans name no threads.
  void begin(pool::Clock ticks, std::string_view resource, size_t expected_bytes, NodeTid node_tid = {});
  bool span(const SpanRecordView& span) override;
  std::string finish();
  // How long ago the span ended that ended first of those since begin().
  uint64_t oldest_age_nano();

  // How many bytes of OTLP a record can become: no item grows by more than half; the 72 bytes of a record's head become
  // 113 at most, with its thread.
  static constexpr size_t most_bytes(size_t record_bytes) { return record_bytes + record_bytes * 5 / 8 + 64; }

 private:
  struct Times {
    uint64_t start_ticks_nano;  // the program's clock as CLOCK_MONOTONIC
    uint64_t start_unix_nano;
    uint64_t end_ticks_nano;
  };

  void flush();
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
  Counter& without_thread_;
  pool::Clock ticks_ = pool::Clock::kTsc;
  Times times_{};
  NodeTid node_tid_;
  uint64_t asked_tid_ = 0;  // the spans of a chunk have the same thread, which is asked for once
  uint32_t known_tid_ = 0;
  uint64_t oldest_end_unix_nano_ = UINT64_MAX;
  std::string out_;
  size_t resource_spans_begin_ = 0;
  size_t scope_spans_begin_ = 0;
  std::unique_ptr<char[]> buffer_;
  WireWriter writer_;
};

// A pool's resource (records of key and value) as the bytes of OTLP's Resource. What does not fit its length is left
// out, and so are the attributes of base/process_attributes.h, which only the agent knows.
std::string encode_resource(std::string_view pool_resource);

// Which process of which node a pool is of, as captures name it.
struct NodeProcess {
  std::array<uint8_t, 16> node_id{};  // zeros: not known
  pid_t pid = 0;                      // as the node numbers it; 0: not known
};
// Adds the attributes of base/process_attributes.h, where both are known.
void append_process(std::string& resource, const NodeProcess& process);
inline constexpr size_t kMostProcessBytes = 96;  // that are added
// One value of it; empty when there is none.
std::string value_in_resource(std::string_view pool_resource, std::string_view key);

}  // namespace fathom::agent

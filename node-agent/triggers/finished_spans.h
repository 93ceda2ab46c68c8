// FinishedSpans: looks at the spans that the drain reads: which took too long, which failed, and which trace was where.
//
// Purpose: the triggers kSlow and kError. A usual span costs one comparison and a note in TraceMemory. A *request*, a
// span whose parent is not in the same program, also costs a lookup: it is handed to the sink if that wants it for the
// slowest. What failed, and what is over its threshold and was captured while it ran, unless the sink got it as a
// request, is kept for the end of the batch, where it is handed to the sink: of each trace the longest, of each kind of
// trigger; the others are counted by the sink. Thread safety: none, belongs to the agent's loop. Ownership: `sink` must
// outlive it. Units: nanoseconds of CLOCK_MONOTONIC. Hostility: names are the program's; a batch gives kMostOfBatch
// candidates at most.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "node-agent/pool/record.h"
#include "node-agent/triggers/thresholds.h"
#include "node-agent/triggers/trace_memory.h"
#include "node-agent/triggers/trigger_limits.h"

namespace fathom::agent {

struct FinishedSpan {
  CaptureTrigger trigger = CaptureTrigger::kSlow;
  TraceId trace_id;
  SpanId span_id;
  std::string name;
  uint8_t kind = 0;
  uint64_t operation = 0;  // operation_hash()
  uint64_t start_nano = 0;
  uint64_t end_nano = 0;
  uint64_t threshold_nano = 0;  // kNever: none
};

// How many more spans would have been, and why they are not.
using LeftOutSpans = std::map<std::pair<CaptureTrigger, SkipReason>, uint64_t>;

class FinishedSpanSink {
 public:
  virtual ~FinishedSpanSink() = default;
  virtual void finished(uint32_t program, std::vector<FinishedSpan> spans, const LeftOutSpans& left_out) = 0;
  // Whether a slow span was captured while it ran: then its rest is of interest.
  virtual bool was_captured(uint32_t program, const TraceId& trace_id, const SpanId& span_id) const = 0;
  // Whether a request may be one of the slowest of its operation (operation_key()); then it comes. Asked once of each:
  // what is not wanted may have to be counted.
  virtual bool wants_request(uid_t user, uint64_t operation, uint64_t start_nano, uint64_t end_nano) = 0;
  virtual void request(uint32_t program, uint64_t operation, FinishedSpan span) = 0;
};

class FinishedSpans {
 public:
  static constexpr size_t kMostOfBatch = 32;

  FinishedSpans(TraceMemory& traces, FinishedSpanSink& sink) : traces_(traces), sink_(sink) {}

  void set_thresholds(std::shared_ptr<const Thresholds> thresholds) { thresholds_ = std::move(thresholds); }
  // The spans to come are this program's. 0: it is not watched.
  void begin(uint32_t program, uid_t user, std::string_view service_namespace, std::string_view service);
  void note(const SpanRecordView& span, uint64_t start_nano, uint64_t end_nano) {
    if (program_ == 0) return;
    traces_.note(span.head.trace_id, program_, start_nano, end_nano);
    const bool is_usual = end_nano - start_nano < smallest_nano_ && span.head.status != kError;
    if (!is_usual || is_request(span)) look_at(span, start_nano, end_nano);
  }
  void finish();

 private:
  static constexpr uint8_t kError = 2;  // OTLP's status
  static bool is_request(const SpanRecordView& span) {
    static constexpr uint8_t kNoParent[sizeof span.head.parent_span_id] = {};
    return (span.head.flags & pool::kRemoteParent) != 0 ||
           std::memcmp(span.head.parent_span_id, kNoParent, sizeof kNoParent) == 0;
  }

  void look_at(const SpanRecordView& span, uint64_t start_nano, uint64_t end_nano);
  // Whether the sink got it.
  bool look_at_request(const FinishedSpan& span, const SpanRecordView& record);
  void keep(FinishedSpan span, const SpanRecordView& record);

  TraceMemory& traces_;
  FinishedSpanSink& sink_;
  std::shared_ptr<const Thresholds> thresholds_ = std::make_shared<Thresholds>();
  uint32_t program_ = 0;
  uid_t user_ = 0;
  const ServiceThresholds* service_ = nullptr;
  uint64_t service_hash_ = 0;
  uint64_t smallest_nano_ = kNever;
  std::vector<FinishedSpan> kept_;
  LeftOutSpans left_out_;
};

}  // namespace fathom::agent

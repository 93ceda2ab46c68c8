// FinishedSpans: inspects the spans that the drain reads: slow and failed ones, requests, and the process of each
// trace.
//
// Purpose: the triggers kSlow and kError. An ordinary span costs one comparison and a note in TraceMemory. A *request*,
// a span whose parent is not in the same program, also costs a lookup; the sink gets it if it wants it for the slowest.
// Other spans are kept until the end of the batch: failed ones; and those over their threshold that were captured while
// they ran, unless the sink got them as requests. The sink then gets the longest span of each trace and trigger, and
// the number of the others. Thread safety: none, belongs to the agent's loop. Ownership: `sink` must outlive it. Units:
// nanoseconds of CLOCK_MONOTONIC. Hostility: names are the program's; a batch gives at most kMostOfBatch candidates.
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

// The number of spans left out, by trigger and reason.
using LeftOutSpans = std::map<std::pair<CaptureTrigger, SkipReason>, uint64_t>;

class FinishedSpanSink {
 public:
  virtual ~FinishedSpanSink() = default;
  virtual void finished(uint32_t program, std::vector<FinishedSpan> spans, const LeftOutSpans& left_out) = 0;
  // Whether a slow span was captured while it ran; then its rest is to be captured.
  virtual bool was_captured(uint32_t program, const TraceId& trace_id, const SpanId& span_id) const = 0;
  // Whether a request may be one of the slowest of its operation (operation_key()); then request() follows. Called once
  // for each request, because it may count the ones that are not wanted.
  virtual bool wants_request(uid_t user, uint64_t operation, uint64_t start_nano, uint64_t end_nano) = 0;
  virtual void request(uint32_t program, uint64_t operation, FinishedSpan span) = 0;
};

class FinishedSpans {
 public:
  static constexpr size_t kMostOfBatch = 32;

  FinishedSpans(TraceMemory& traces, FinishedSpanSink& sink) : traces_(traces), sink_(sink) {}

  void set_thresholds(std::shared_ptr<const Thresholds> thresholds) { thresholds_ = std::move(thresholds); }
  // The following spans are this program's. 0: the program is not watched.
  void begin(uint32_t program, uid_t user, std::string_view service_namespace, std::string_view service);
  void note(const SpanRecordView& span, uint64_t start_nano, uint64_t end_nano) {
    if (program_ == 0) return;
    traces_.note(span.head.trace_id, program_, start_nano, end_nano);
    const bool is_usual = end_nano - start_nano < smallest_nano_ && span.head.status != kError;
    if (!is_usual || is_request(span)) look_at(span, start_nano, end_nano);
  }
  void finish();

 private:
  static constexpr uint8_t kError = 2;  // OTLP's status code
  static bool is_request(const SpanRecordView& span) {
    static constexpr uint8_t kNoParent[sizeof span.head.parent_span_id] = {};
    return (span.head.flags & pool::kRemoteParent) != 0 ||
           std::memcmp(span.head.parent_span_id, kNoParent, sizeof kNoParent) == 0;
  }

  void look_at(const SpanRecordView& span, uint64_t start_nano, uint64_t end_nano);
  // Returns whether the sink got it.
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

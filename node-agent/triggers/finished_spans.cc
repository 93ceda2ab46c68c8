#include "node-agent/triggers/finished_spans.h"

#include <algorithm>

namespace fathom::agent {

void FinishedSpans::begin(uint32_t program, uid_t user, std::string_view service_namespace, std::string_view service) {
  program_ = program;
  user_ = user;
  service_ = &thresholds_->of(service_namespace, service);
  service_hash_ = service_hash(service_namespace, service);
  smallest_nano_ = service_->smallest_nano();
  kept_.clear();
  left_out_.clear();
}

void FinishedSpans::look_at(const SpanRecordView& record, uint64_t start_nano, uint64_t end_nano) {
  uint8_t kind = record.head.kind;
  uint64_t operation = operation_hash(kind, record.name, record.name.size());
  uint64_t threshold_nano = service_->of(operation);
  FinishedSpan span{.kind = kind,
                    .operation = operation,
                    .start_nano = start_nano,
                    .end_nano = end_nano,
                    .threshold_nano = threshold_nano};
  std::memcpy(span.trace_id.bytes.data(), record.head.trace_id, sizeof record.head.trace_id);
  std::memcpy(span.span_id.bytes.data(), record.head.span_id, sizeof record.head.span_id);
  // The sink also captures the rest of a request; a second attempt would count a rejected rest twice.
  const bool is_handed_over = is_request(record) && look_at_request(span, record);
  const bool slow = threshold_nano != kNever && end_nano - start_nano >= threshold_nano && !is_handed_over;
  if (slow && sink_.was_captured(program_, span.trace_id, span.span_id)) {
    span.trigger = CaptureTrigger::kSlow;
    keep(span, record);
  }
  if (record.head.status != kError) return;
  span.trigger = CaptureTrigger::kError;
  keep(std::move(span), record);
}

bool FinishedSpans::look_at_request(const FinishedSpan& span, const SpanRecordView& record) {
  const uint64_t operation = operation_key(service_hash_, span.operation);
  if (!sink_.wants_request(user_, operation, span.start_nano, span.end_nano)) return false;
  FinishedSpan request = span;
  request.name = record.name;
  sink_.request(program_, operation, std::move(request));
  return true;
}

void FinishedSpans::keep(FinishedSpan span, const SpanRecordView& record) {
  auto same = std::find_if(kept_.begin(), kept_.end(), [&](const FinishedSpan& kept) {
    return kept.trigger == span.trigger && kept.trace_id == span.trace_id;
  });
  if (same == kept_.end() && kept_.size() >= kMostOfBatch) {
    ++left_out_[{span.trigger, SkipReason::kRate}];
    return;
  }
  if (same == kept_.end())
    same = kept_.insert(kept_.end(), FinishedSpan{});
  else
    ++left_out_[{span.trigger, SkipReason::kSame}];
  if (same->end_nano - same->start_nano > span.end_nano - span.start_nano) return;
  *same = std::move(span);
  same->name = record.name;
}

void FinishedSpans::finish() {
  if (program_ != 0 && !kept_.empty()) sink_.finished(program_, std::exchange(kept_, {}), std::exchange(left_out_, {}));
  program_ = 0;
}

}  // namespace fathom::agent

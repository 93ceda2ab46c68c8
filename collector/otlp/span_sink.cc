#include "collector/otlp/span_sink.h"

#include <algorithm>
#include <utility>

namespace fathom::collector {

namespace {

// Small enough that small requests take little, large enough that a large one asks seldom.
constexpr uint64_t kChargeStep = 64 * 1024;

using store::ValueType;

RedactValue rule_value(const store::ValueView& value) {
  switch (value.type) {
    case ValueType::kEmpty:
      return {};
    case ValueType::kBool:
      return RedactValue::of_bool(value.as_bool());
    case ValueType::kInt:
      return RedactValue::of_int(value.as_int());
    case ValueType::kDouble:
      return {RedactValue::Kind::kDouble, {}, value.bits};
    case ValueType::kBytes:
      return RedactValue::of_bytes(value.text);
    case ValueType::kString:
    case ValueType::kJson:
    case ValueType::kCut:
      break;
  }
  return RedactValue::of_text(value.text);
}

}  // namespace

std::string_view rejection_label(Rejection reason) {
  switch (reason) {
    case Rejection::kTraceId:
      return "trace_id";
    case Rejection::kSpanId:
      return "span_id";
    case Rejection::kParentSpanId:
      return "parent_span_id";
  }
  return "unknown";
}

std::string_view rejection_rule(Rejection reason) {
  switch (reason) {
    case Rejection::kTraceId:
      return "trace_id must be 16 bytes, not all of them zero";
    case Rejection::kSpanId:
      return "span_id must be 8 bytes, not all of them zero";
    case Rejection::kParentSpanId:
      return "parent_span_id must be empty or 8 bytes";
  }
  return "unknown";
}

std::string_view oddity_label(Oddity oddity) {
  switch (oddity) {
    case Oddity::kEndBeforeStart:
      return "end_before_start";
    case Oddity::kNoEnd:
      return "no_end";
  }
  return "unknown";
}

SpanSink::SpanSink(const store::BatchLimits& limits, const GrowMemory& grow, const Redactor* redactor,
                   const Stamp& stamp)
    : limits_(limits),
      grow_(grow),
      redactor_(redactor != nullptr && redactor->empty() ? nullptr : redactor),
      builder_(limits, stamp.clock, stamp.identity) {}

std::string_view SpanSink::unusual_text(std::string_view raw, size_t limit) {
  raw = whole_characters(raw, limit + kBeyondLimit);
  if (is_utf8(raw)) return raw;
  std::string repaired = repair_utf8(raw, limit + kBeyondLimit);
  count(Loss::kTextRepaired);
  return keep(std::move(repaired));
}

std::string_view SpanSink::whole_utf8(std::string_view raw) {
  if (is_utf8(raw)) return raw;
  count(Loss::kTextRepaired);
  return reserve(3 * raw.size()) ? kept_.emplace_back(repair_utf8(raw)) : std::string_view();
}

std::string_view SpanSink::searched_name(std::string_view raw) {
  raw = whole_utf8(raw);
  std::string changed;
  const RedactOutcome outcome = redactor_->text(raw, limits_.bytes_per_name + kBeyondLimit, changed, decoded_.redacted);
  return outcome == RedactOutcome::kKept ? raw : keep(std::move(changed));
}

std::optional<RedactAction> SpanSink::counted_action(std::string_view key) {
  const std::optional<RedactAction> action = redactor_->key_action(key);
  if (action) count(*action);
  return action;
}

std::string SpanSink::replaced(RedactAction action, const store::ValueView& raw) const {
  return redactor_->replaced(action, rule_value(raw));
}

RedactOutcome SpanSink::search(const store::ValueView& raw, std::string& changed) {
  return redactor_->value(rule_value(raw), value_room(), changed, decoded_.redacted);
}

std::optional<store::ValueView> SpanSink::searched_scalar(store::ValueView raw) {
  if (raw.is_text() && raw.type != ValueType::kBytes) raw.text = whole_utf8(raw.text);
  std::string changed;
  const RedactOutcome outcome = search(raw, changed);
  if (outcome == RedactOutcome::kDropped) return std::nullopt;
  if (outcome == RedactOutcome::kKept) return cut(raw);
  // The end of a text that was cut is still missing.
  return cut({raw.type == ValueType::kCut ? ValueType::kCut : ValueType::kString, keep(std::move(changed)), 0});
}

store::ValueView SpanSink::cut(store::ValueView raw) {
  if (raw.type == ValueType::kBytes) {
    raw.text = raw.text.substr(0, value_room());
  } else if (raw.is_text()) {
    raw.text = text(raw.text, limits_.bytes_per_value);
  }
  return raw;
}

std::string_view SpanSink::keep_raw(std::string_view text) {
  if (redactor_ == nullptr) text = whole_characters(text, value_room());
  return reserve(text.size()) ? kept_.emplace_back(text) : std::string_view();
}

std::string_view SpanSink::keep(std::string text) {
  reserve(text.size());
  return kept_.emplace_back(std::move(text));
}

bool SpanSink::reserve(uint64_t bytes) {
  kept_bytes_ += bytes + sizeof(std::string);
  charge();
  return ok();
}

// The builder holds its bytes once while it collects and twice while it assembles a batch.
void SpanSink::charge() {
  uint64_t needed = kept_bytes_ + batch_bytes_ + 2 * builder_.bytes();
  if (needed <= charged_bytes_ || !refused_.ok()) return;
  uint64_t step = std::max(needed - charged_bytes_, kChargeStep);
  refused_ = grow_(step);
  if (refused_.ok()) charged_bytes_ += step;
}

void SpanSink::resource(const store::ResourceView& resource) {
  builder_.set_resource(resource);
  kept_.clear();
  kept_bytes_ = 0;
}

void SpanSink::scope(const store::ScopeView& scope) {
  builder_.set_scope(scope);
  kept_.clear();
  kept_bytes_ = 0;
}

void SpanSink::reject(Rejection reason) {
  ++decoded_.rejections[static_cast<size_t>(reason)];
  ++decoded_.rejected_spans;
}

bool SpanSink::reject(const SpanDraft& draft) {
  if (!draft.trace_id || draft.trace_id->is_zero()) {
    reject(Rejection::kTraceId);
  } else if (!draft.span_id || draft.span_id->is_zero()) {
    reject(Rejection::kSpanId);
  } else if (!draft.parent_span_id) {
    reject(Rejection::kParentSpanId);
  } else {
    return false;
  }
  return true;
}

void SpanSink::note_oddities(const store::SpanView& span) {
  if (span.end_unix_nano >= span.start_unix_nano && span.end_unix_nano != 0) return;
  Oddity oddity = span.end_unix_nano == 0 ? Oddity::kNoEnd : Oddity::kEndBeforeStart;
  ++decoded_.oddities[static_cast<size_t>(oddity)];
}

void SpanSink::span(SpanDraft& draft) {
  if (ok() && !reject(draft)) {
    note_oddities(draft.span);
    builder_.add(draft.view());
    ++decoded_.accepted_spans;
    charge();
    if (builder_.full()) close_batch();
  }
  kept_.clear();
  kept_bytes_ = 0;
}

void SpanSink::close_batch() {
  decoded_.batches.push_back(builder_.finish());
  batch_bytes_ += decoded_.batches.back()->memory_bytes();
  charge();
}

Result<Decoded> SpanSink::finish() {
  if (ok() && !builder_.empty()) close_batch();
  if (!ok()) return refused_.error();
  return std::move(decoded_);
}

}  // namespace fathom::collector

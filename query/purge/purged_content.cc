#include "query/purge/purged_content.h"

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>

#include "capture/capture.h"
#include "capture/decode.h"

namespace fathom::query {

namespace {

using capture::Capture;
using capture::Event;
using capture::FieldType;
using capture::Thread;
using capture::Tracepoint;
using store::AttributeView;
using store::ValueView;

bool tells_of(const Capture& capture, const store::TraceSet& traces) {
  const auto is_purged = [&](const capture::SpanRef& span) { return traces.contains(span.trace_id); };
  for (const std::vector<capture::SpanRef>& set : capture.span_sets) {
    if (std::ranges::any_of(set, is_purged)) return true;
  }
  return std::ranges::any_of(capture.threads, [&](const Thread& thread) {
    return std::ranges::any_of(thread.open, [&](const capture::OpenSpan& open) { return is_purged(open.span); });
  });
}

// `decimal`: keeps the text of a number that is no integer of the store's.
ValueView value_of(FieldType type, capture::Value value, const Thread& thread, std::string& decimal) {
  switch (type) {
    case FieldType::kInteger:
      return ValueView::of_int(value.integer());
    case FieldType::kNatural:
      if (value.natural() <= uint64_t{INT64_MAX}) return ValueView::of_int(value.integer());
      decimal = std::to_string(value.natural());
      return ValueView::of_string(decimal);
    case FieldType::kReal:
      return ValueView::of_double(value.real());
    case FieldType::kTruth:
      return ValueView::of_bool(value.truth());
    case FieldType::kText:
      return ValueView::of_string(thread.text_of(value));
    case FieldType::kBytes:
      return {store::ValueType::kBytes, thread.text_of(value), 0};
  }
  return {};
}

class EventTest {
 public:
  explicit EventTest(const std::vector<store::Condition>& where) : where_(where) {}

  bool passes(const Capture& capture, const Thread& thread, const Event& event) {
    const Tracepoint& tracepoint = capture.tracepoints[event.tracepoint];
    const std::span<const capture::Value> values = thread.values_of(event);
    const size_t fields = std::min(values.size(), tracepoint.fields.size());
    decimals_.resize(std::max(decimals_.size(), fields));
    attributes_.clear();
    for (size_t i = 0; i < fields; ++i) {
      const capture::Field& field = tracepoint.fields[i];
      attributes_.push_back({field.key, value_of(field.type, values[i], thread, decimals_[i])});
    }
    const AttributeView service{"service.name", ValueView::of_string(capture.service)};
    return std::ranges::all_of(where_, [&](const store::Condition& condition) {
      return store::holds(condition, attributes_, std::span(&service, 1));
    });
  }

 private:
  const std::vector<store::Condition>& where_;
  std::vector<AttributeView> attributes_;
  std::vector<std::string> decimals_;
};

bool has_event(const Capture& capture, const std::vector<store::Condition>& where) {
  EventTest test(where);
  for (const Thread& thread : capture.threads) {
    for (const Event& event : thread.events) {
      if (test.passes(capture, thread, event)) return true;
    }
  }
  return false;
}

}  // namespace

Result<bool> is_purged_content(std::string_view content, const store::TraceSet& traces,
                               const std::vector<store::Condition>& where) {
  const Result<Capture> decoded = capture::decode(content);
  if (!decoded) return corrupt(decoded.error().message);
  return tells_of(*decoded, traces) || has_event(*decoded, where);
}

}  // namespace fathom::query

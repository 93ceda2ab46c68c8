#include "collector/otlp/span_draft.h"

#include <algorithm>

namespace fathom::collector {

namespace {

// A sender may claim any count.
uint32_t saturated_sum(uint32_t a, uint32_t b) {
  return static_cast<uint32_t>(std::min<uint64_t>(uint64_t{a} + b, UINT32_MAX));
}

// Points each event or link at its attributes, now that they stay where they are.
template <typename View>
void place(std::vector<View>& views, const std::vector<size_t>& starts, std::span<const store::AttributeView> pool) {
  for (size_t i = 0; i < views.size(); ++i) {
    views[i].attributes = pool.subspan(starts[i], views[i].attributes.size());
  }
}

}  // namespace

uint32_t AttributeList::dropped(uint32_t by_sender) const {
  return saturated_sum(by_sender, dropped_);
}

void SpanDraft::clear() {
  span = {};
  trace_id.reset();
  span_id.reset();
  parent_span_id = SpanId{};
  attributes.clear();
  nested.clear();
  events_.clear();
  links_.clear();
  event_starts_.clear();
  link_starts_.clear();
  nested_kept_.clear();
  dropped_events_ = dropped_links_ = 0;
}

size_t SpanDraft::keep_nested() {
  size_t start = nested_kept_.size();
  std::span<const store::AttributeView> list = nested.view();
  nested_kept_.insert(nested_kept_.end(), list.begin(), list.end());
  return start;
}

void SpanDraft::add_event(store::EventView event) {
  event.attributes = nested.view();
  event.dropped_attributes_count = nested.dropped(event.dropped_attributes_count);
  event_starts_.push_back(keep_nested());
  events_.push_back(event);
}

void SpanDraft::add_link(store::LinkView link) {
  link.attributes = nested.view();
  link.dropped_attributes_count = nested.dropped(link.dropped_attributes_count);
  link_starts_.push_back(keep_nested());
  links_.push_back(link);
}

store::SpanView SpanDraft::view() {
  place(events_, event_starts_, nested_kept_);
  place(links_, link_starts_, nested_kept_);
  store::SpanView whole = span;
  whole.trace_id = trace_id.value_or(TraceId{});
  whole.span_id = span_id.value_or(SpanId{});
  whole.parent_span_id = parent_span_id.value_or(SpanId{});
  whole.attributes = attributes.view();
  whole.events = events_;
  whole.links = links_;
  whole.dropped_attributes_count = attributes.dropped(span.dropped_attributes_count);
  whole.dropped_events_count = saturated_sum(span.dropped_events_count, dropped_events_);
  whole.dropped_links_count = saturated_sum(span.dropped_links_count, dropped_links_);
  return whole;
}

}  // namespace fathom::collector

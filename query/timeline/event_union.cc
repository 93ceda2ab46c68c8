#include "query/timeline/event_union.h"

#include <algorithm>
#include <iterator>
#include <span>
#include <utility>

namespace fathom::query {

namespace {

using capture::FieldType;

constexpr size_t kMostCompared = 64;

uint64_t nano_of(const TimelineEvent& event) {
  return event.event->monotonic_nano;
}

const capture::Tracepoint* place_of(const TimelineEvent& event) {
  const auto& places = event.content->tracepoints;
  return event.event->tracepoint < places.size() ? &places[event.event->tracepoint] : nullptr;
}

bool has_same_place(const TimelineEvent& a, const TimelineEvent& b) {
  const capture::Tracepoint *of_a = place_of(a), *of_b = place_of(b);
  return of_a == of_b || (of_a != nullptr && of_b != nullptr && *of_a == *of_b);
}

bool has_same_spans(const TimelineEvent& a, const TimelineEvent& b) {
  if (a.span_id != b.span_id || a.other != b.other) return false;
  if (a.other_span == nullptr || b.other_span == nullptr) return a.other_span == b.other_span;
  return *a.other_span == *b.other_span;
}

bool is_same_value(FieldType type, const TimelineEvent& a, capture::Value of_a, const TimelineEvent& b,
                   capture::Value of_b) {
  const bool is_text = type == FieldType::kText || type == FieldType::kBytes;
  if (!is_text) return of_a.natural() == of_b.natural();
  return of_a.is_cut() == of_b.is_cut() && a.thread->text_of(of_a) == b.thread->text_of(of_b);
}

// Both are of the same place.
bool has_same_values(const TimelineEvent& a, const TimelineEvent& b) {
  const auto of_a = a.thread->values_of(*a.event), of_b = b.thread->values_of(*b.event);
  const capture::Tracepoint* place = place_of(a);
  if (of_a.size() != of_b.size()) return false;
  if (place == nullptr || of_a.size() > place->fields.size()) return of_a.empty();
  for (size_t i = 0; i < of_a.size(); ++i) {
    if (!is_same_value(place->fields[i].type, a, of_a[i], b, of_b[i])) return false;
  }
  return true;
}

bool is_same(const TimelineEvent& a, const TimelineEvent& b) {
  return has_same_spans(a, b) && has_same_place(a, b) && has_same_values(a, b);
}

// Finds events of one capture among those of others.
class EventMatcher {
 public:
  EventMatcher(std::span<const TimelineEvent> known, Meter& meter)
      : known_(known), is_matched_(known.size()), meter_(meter) {}

  // Must be called in the order of time.
  bool has(const TimelineEvent& event) {
    skip_until(nano_of(event));
    const size_t end = std::min(known_.size(), first_ + kMostCompared);
    for (size_t i = first_; i < end && nano_of(known_[i]) <= nano_of(event) + kSameEventNano; ++i) {
      if (!meter_.step() || is_matched_[i] || !is_same(known_[i], event)) continue;
      return is_matched_[i] = true;
    }
    return false;
  }

 private:
  void skip_until(uint64_t nano) {
    while (first_ < known_.size() && (is_matched_[first_] || nano_of(known_[first_]) + kSameEventNano < nano)) ++first_;
  }

  const std::span<const TimelineEvent> known_;
  std::vector<bool> is_matched_;
  Meter& meter_;
  size_t first_ = 0;
};

}  // namespace

void add_new_events(std::vector<TimelineEvent>& events, std::vector<TimelineEvent> fresh, Meter& meter) {
  EventMatcher known(events, meter);
  std::erase_if(fresh, [&](const TimelineEvent& event) { return known.has(event); });
  const auto old_count = static_cast<std::ptrdiff_t>(events.size());
  events.insert(events.end(), std::make_move_iterator(fresh.begin()), std::make_move_iterator(fresh.end()));
  std::ranges::inplace_merge(events, events.begin() + old_count, {}, nano_of);
}

}  // namespace fathom::query

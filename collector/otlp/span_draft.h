// SpanDraft: one span while a decoder collects its parts, in arrays that the next span uses again.
//
// Purpose: a decoder meets attributes, events and links in any order and number; the draft keeps as many as the limits
// allow and counts the rest, so that a hostile span costs no more memory than an honest one. Ownership: texts are the
// decoder's; views are valid until clear(). Thread safety: belongs to one decoder.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "store/batch.h"
#include "store/span.h"

namespace fathom::collector {

// Attributes up to a limit; decoders ask full() first, because what is dropped need not be decoded.
class AttributeList {
 public:
  explicit AttributeList(size_t limit) : limit_(limit) {}
  bool full() const { return list_.size() >= limit_; }
  void add(std::string_view key, const store::ValueView& value) { list_.push_back({key, value}); }
  void drop() { ++dropped_; }
  void clear() {
    list_.clear();
    dropped_ = 0;
  }
  std::span<const store::AttributeView> view() const { return list_; }
  // What the sender says it dropped, and what was dropped here.
  uint32_t dropped(uint32_t by_sender) const;
  uint32_t dropped_here() const { return dropped_; }

 private:
  std::vector<store::AttributeView> list_;
  size_t limit_;
  uint32_t dropped_ = 0;
};

class SpanDraft {
 public:
  explicit SpanDraft(const store::BatchLimits& limits)
      : attributes(limits.attributes_per_span), nested(limits.attributes_per_span), limits_(limits) {}

  void clear();

  bool events_full() const { return events_.size() >= limits_.events_per_span; }
  bool links_full() const { return links_.size() >= limits_.links_per_span; }
  // Take the attributes out of `nested`.
  void add_event(store::EventView event);
  void add_link(store::LinkView link);
  void drop_event() { ++dropped_events_; }
  void drop_link() { ++dropped_links_; }

  // The whole span; ids are in `span` only if the optionals below hold them.
  store::SpanView view();

  store::SpanView span;  // scalars and texts; the counts are the sender's
  std::optional<TraceId> trace_id;
  std::optional<SpanId> span_id;
  std::optional<SpanId> parent_span_id = SpanId{};  // nothing: not an id
  AttributeList attributes;
  AttributeList nested;  // of the event or link under way

 private:
  size_t keep_nested();

  const store::BatchLimits& limits_;
  std::vector<store::EventView> events_;
  std::vector<store::LinkView> links_;
  std::vector<size_t> event_starts_, link_starts_;  // into nested_kept_, which moves while it grows
  std::vector<store::AttributeView> nested_kept_;
  uint32_t dropped_events_ = 0;
  uint32_t dropped_links_ = 0;
};

}  // namespace fathom::collector

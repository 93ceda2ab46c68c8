// Random batches that use every part of a span: the input of round trips and golden files.
#pragma once

#include <deque>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "store/batch.h"

namespace fathom::store::block {

class WildBatches {
 public:
  explicit WildBatches(uint64_t seed) : random_(seed) {}

  // `traces` traces of up to `spans_per_trace` spans each, spread over `batches` batches with clocks of their own.
  std::vector<BatchPtr> make(size_t batches, uint64_t traces, size_t spans, bool with_clocks) {
    std::vector<BatchPtr> made;
    for (size_t b = 0; b < batches; ++b) {
      BatchBuilder builder({}, with_clocks && b % 3 == 1 ? std::optional(clock()) : std::nullopt);
      for (size_t i = 0; i < spans; ++i) {
        if (i % 16 == 0) shared(builder);
        add_span(builder, traces);
      }
      made.push_back(builder.finish());
    }
    return made;
  }

 private:
  uint64_t pick(uint64_t n) { return random_() % n; }
  std::string_view text(std::string value) { return texts_.emplace_back(std::move(value)); }
  ClockOffset clock() { return {static_cast<int64_t>(random_() % 4'000'000) - 2'000'000, pick(1000)}; }

  std::string uuid() {
    uint64_t words[2] = {random_(), random_()};
    std::string hex = to_hex({reinterpret_cast<const char*>(words), 16});
    for (size_t at : {8, 13, 18, 23}) hex.insert(at, 1, '-');
    return hex;
  }

  ValueView value(uint64_t kind) {
    switch (kind % 12) {
      case 0:
        return ValueView::of_string(text("value-" + std::to_string(pick(20))));
      case 1:
        return ValueView::of_int(static_cast<int64_t>(pick(40)) - 20);
      case 2:
        return ValueView::of_bool(pick(2) == 1);
      case 3:
        return ValueView::of_double(static_cast<double>(pick(1000)) / 8 - 40);
      case 4:
        return {ValueType::kBytes, text(std::string("\0\xff\x01", 3) + std::to_string(pick(9))), 0};
      case 5:
        return {ValueType::kJson, text("[" + std::to_string(pick(9)) + ",true]"), 0};
      case 6:
        return {};
      case 7:
        return ValueView::of_string(text(uuid()));
      case 8:
        return ValueView::of_string(text(uuid().substr(0, 8)));
      case 9:
        return ValueView::of_int(static_cast<int64_t>(random_()));
      case 10:
        return ValueView::of_string("");
      default:
        return {ValueType::kCut, text("cut " + std::to_string(pick(5))), 0};
    }
  }

  std::vector<AttributeView> attributes(size_t most) {
    std::vector<AttributeView> list;
    for (size_t count = pick(most + 1); count > 0; --count) {
      uint64_t key = pick(14);
      // Key 12 has values of every type, key 13 is another key each time.
      std::string name = "key." + std::to_string(key == 13 ? 100 + pick(100'000) : key);
      list.push_back({text(name), value(key >= 12 ? random_() : key)});
    }
    return list;
  }

  void shared(BatchBuilder& builder) {
    std::vector<AttributeView> list = attributes(3);
    list.push_back({"service.name", ValueView::of_string(text("service-" + std::to_string(pick(4))))});
    builder.set_resource({list, "https://schema/1", static_cast<uint32_t>(pick(3))});
    std::vector<AttributeView> more = attributes(2);
    builder.set_scope({text("scope-" + std::to_string(pick(3))), "1.0", more, "", static_cast<uint32_t>(pick(2))});
  }

  void add_span(BatchBuilder& builder, uint64_t traces) {
    SpanView span;
    uint64_t trace = (pick(traces) + 1) * 0x9e3779b97f4a7c15ULL;
    std::memcpy(span.trace_id.bytes.data(), &trace, 8);
    span.trace_id.bytes[15] = 1;
    span.span_id = span_id();
    // Parents in the trace, outside of it, and none.
    uint64_t parent = pick(4);
    if (parent == 1 || parent == 2) span.parent_span_id = parent == 1 ? span_id() : last_of_[trace];
    last_of_[trace] = span.span_id;
    span.start_unix_nano = 1'700'000'000'000'000'000 + pick(30'000'000'000);
    if (pick(200) == 0) span.start_unix_nano = pick(2) * UINT64_MAX;
    span.end_unix_nano = span.start_unix_nano + pick(100'000'000);
    if (pick(50) == 0) span.end_unix_nano = span.start_unix_nano - 5;
    span.name = text("operation " + std::to_string(pick(12)));
    span.kind = static_cast<SpanKind>(pick(6));
    span.status = static_cast<StatusCode>(pick(3));
    if (span.status == StatusCode::kError) span.status_message = text("failed " + std::to_string(pick(3)));
    if (pick(5) == 0) span.trace_state = "vendor=1";
    span.flags = pick(3) == 0 ? UINT32_MAX : 1;
    std::vector<AttributeView> list = attributes(10);
    span.attributes = list;
    lists_.clear();
    events_.clear();
    links_.clear();
    for (uint64_t n = pick(6) == 0 ? pick(4) : 0; n > 0; --n) {
      lists_.push_back(attributes(3));
      events_.push_back({span.start_unix_nano + pick(1000) - 500, text("event " + std::to_string(pick(3))),
                         lists_.back(), static_cast<uint32_t>(pick(3))});
    }
    for (uint64_t n = pick(8) == 0 ? pick(3) : 0; n > 0; --n) {
      lists_.push_back(attributes(2));
      links_.push_back({span.trace_id, span_id(), "state=2", lists_.back(), 1, static_cast<uint32_t>(pick(1000))});
    }
    span.events = events_;
    span.links = links_;
    span.dropped_attributes_count = static_cast<uint32_t>(pick(3));
    span.dropped_events_count = static_cast<uint32_t>(pick(2));
    span.dropped_links_count = pick(100) == 0 ? UINT32_MAX : 0;
    builder.add(span);
  }

  SpanId span_id() {
    SpanId id;
    uint64_t word = random_() | 1;
    std::memcpy(id.bytes.data(), &word, 8);
    return id;
  }

  std::mt19937_64 random_;
  std::deque<std::string> texts_;
  std::map<uint64_t, SpanId> last_of_;
  std::deque<std::vector<AttributeView>> lists_;
  std::vector<EventView> events_;
  std::vector<LinkView> links_;
};

}  // namespace fathom::store::block

#include "capture/capture.h"

#include <algorithm>
#include <tuple>

namespace fathom::capture {

namespace {

bool same_value(FieldType type, const Thread& a, Value in_a, const Thread& b, Value in_b) {
  if (type != FieldType::kText && type != FieldType::kBytes) return in_a.natural() == in_b.natural();
  return in_a.is_cut() == in_b.is_cut() && a.text_of(in_a) == b.text_of(in_b);
}

bool same_event(const std::vector<Field>& fields, const Thread& a, const Event& in_a, const Thread& b,
                const Event& in_b) {
  auto rest = [](const Event& event) {
    return std::tuple(event.monotonic_nano, event.tracepoint, event.spans, event.values, event.spans_certain);
  };
  if (rest(in_a) != rest(in_b) || in_a.values > fields.size()) return false;
  for (size_t i = 0; i < in_a.values; ++i) {
    if (!same_value(fields[i].type, a, a.values_of(in_a)[i], b, b.values_of(in_b)[i])) return false;
  }
  return true;
}

bool same_thread(const std::vector<Tracepoint>& tracepoints, const Thread& a, const Thread& b) {
  auto rest = [](const Thread& thread) { return std::tie(thread.tid, thread.name, thread.open, thread.kernel_events); };
  return rest(a) == rest(b) && std::ranges::equal(a.events, b.events, [&](const Event& in_a, const Event& in_b) {
           return in_a.tracepoint < tracepoints.size() &&
                  same_event(tracepoints[in_a.tracepoint].fields, a, in_a, b, in_b);
         });
}

// The last anchor at or before an instant, or the first of all.
size_t anchor_before(const std::vector<Anchor>& anchors, uint64_t monotonic_nano) {
  auto after = std::ranges::upper_bound(anchors, monotonic_nano, {}, &Anchor::monotonic_nano);
  return after == anchors.begin() ? 0 : static_cast<size_t>(after - anchors.begin()) - 1;
}

// The first anchor at or behind an instant, or the last of all.
size_t anchor_behind(const std::vector<Anchor>& anchors, uint64_t monotonic_nano) {
  auto behind = std::ranges::lower_bound(anchors, monotonic_nano, {}, &Anchor::monotonic_nano);
  return static_cast<size_t>(behind - anchors.begin()) - (behind == anchors.end() ? 1 : 0);
}

}  // namespace

Value Thread::add_text(std::string_view bytes, bool cut) {
  Value value = Value::of_text(texts.size(), bytes.size(), cut);
  texts.append(bytes);
  return value;
}

void Thread::add_event(Event event, std::span<const Value> its_values) {
  event.first_value = static_cast<uint32_t>(values.size());
  event.values = static_cast<uint16_t>(its_values.size());
  values.insert(values.end(), its_values.begin(), its_values.end());
  events.push_back(event);
}

bool same(const Capture& a, const Capture& b) {
  auto rest = [](const Capture& c) {
    return std::tie(c.begin_nano, c.end_nano, c.events_complete_from_nano, c.kernel_complete_from_nano,
                    c.kernel_missing, c.trigger_nano, c.pid, c.service, c.reason, c.ended, c.anchors, c.tracepoints,
                    c.span_sets, c.losses);
  };
  return rest(a) == rest(b) && std::ranges::equal(a.threads, b.threads, [&](const Thread& in_a, const Thread& in_b) {
           return same_thread(a.tracepoints, in_a, in_b);
         });
}

uint64_t unix_nano_at(const Capture& capture, uint64_t monotonic_nano) {
  if (capture.anchors.empty()) return 0;
  size_t index = anchor_before(capture.anchors, monotonic_nano);
  const Anchor& before = capture.anchors[index];
  const uint64_t passed = monotonic_nano - before.monotonic_nano;  // modulo 2^64: the first one may be later
  bool has_next = index + 1 < capture.anchors.size() && monotonic_nano >= before.monotonic_nano;
  if (!has_next || capture.anchors[index + 1].epoch != before.epoch) return before.unix_nano + passed;
  const Anchor& next = capture.anchors[index + 1];
  const unsigned __int128 share = static_cast<unsigned __int128>(passed) * (next.unix_nano - before.unix_nano);
  return before.unix_nano + static_cast<uint64_t>(share / (next.monotonic_nano - before.monotonic_nano));
}

bool crosses_clock_jump(const Capture& capture) {
  if (capture.anchors.empty()) return false;
  return capture.anchors[anchor_before(capture.anchors, capture.begin_nano)].epoch !=
         capture.anchors[anchor_behind(capture.anchors, capture.end_nano)].epoch;
}

}  // namespace fathom::capture

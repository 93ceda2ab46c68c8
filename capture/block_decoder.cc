#include "capture/block_decoder.h"

#include <algorithm>

namespace fathom::capture {

using namespace format;

BlockDecoder::BlockDecoder(BodyReader& in, Capture& capture, const std::vector<ThreadTotals>& totals)
    : in_(in), capture_(capture), left_(totals) {}

void BlockDecoder::decode() {
  reserve();
  while (!in_.failed() && !in_.in().at_end()) block();
  for (const ThreadTotals& left : left_) {
    if (left.events != 0 || left.values != 0 || left.text_bytes != 0) in_.fail();
  }
  if (in_.failed()) return;
  for (Thread& thread : capture_.threads) sort(thread.events);
}

// Sorting takes as much memory again, at most: what stands at the same instant stays in its order.
void BlockDecoder::sort(std::vector<Event>& events) {
  if (std::ranges::is_sorted(events, {}, &Event::monotonic_nano)) return;
  if (in_.has_room(events.size() * sizeof(Event))) std::ranges::stable_sort(events, {}, &Event::monotonic_nano);
}

// What the bytes cannot hold is not believed.
void BlockDecoder::reserve() {
  uint64_t bytes = in_.in().remaining();
  for (size_t i = 0; i < left_.size(); ++i) {
    const ThreadTotals& totals = left_[i];
    bool can_be = totals.events <= bytes / kLeastEvent && totals.values <= std::min<uint64_t>(bytes, UINT32_MAX) &&
                  totals.text_bytes <= bytes &&
                  totals.events * kLeastEvent + totals.values + totals.text_bytes <= bytes;
    if (!can_be) return in_.fail();
    bytes -= totals.events * kLeastEvent + totals.values + totals.text_bytes;
    if (!in_.charge(totals.events * sizeof(Event) + totals.values * sizeof(Value) + totals.text_bytes)) return;
    capture_.threads[i].events.reserve(totals.events);
    capture_.threads[i].values.reserve(totals.values);
    capture_.threads[i].texts.reserve(totals.text_bytes);
  }
}

void BlockDecoder::block() {
  Thread* thread = thread_of(in_.in().varint32());
  if (thread == nullptr) return in_.fail();
  const size_t first_value = thread->values.size();
  std::span<Event> events = new_events(*thread);
  times(events);
  places(events);
  spans(events);
  if (in_.failed()) return;
  uint64_t many = value_counts(events, first_value);
  if (many > left_[thread_].values) in_.fail();
  if (in_.failed()) return;
  left_[thread_].values -= many;
  values(*thread, events, many);
  texts(*thread);
}

Thread* BlockDecoder::thread_of(uint32_t tid) {
  std::vector<Thread>& threads = capture_.threads;
  if (thread_ >= threads.size() || threads[thread_].tid != tid) {
    auto found = std::ranges::lower_bound(threads, tid, {}, &Thread::tid);
    thread_ = static_cast<size_t>(found - threads.begin());
  }
  return thread_ < threads.size() && threads[thread_].tid == tid ? &threads[thread_] : nullptr;
}

std::span<Event> BlockDecoder::new_events(Thread& thread) {
  uint64_t many = in_.in().varint();
  if (many == 0 || many > left_[thread_].events || many > in_.in().remaining() / kLeastEvent) in_.fail();
  if (in_.failed()) return {};
  left_[thread_].events -= many;
  thread.events.resize(thread.events.size() + many);
  return std::span(thread.events).last(many);
}

void BlockDecoder::times(std::span<Event> events) {
  uint64_t last = 0;
  for (Event& event : events) last = event.monotonic_nano = in_.apart(last);
}

void BlockDecoder::places(std::span<Event> events) {
  for (Event& event : events) {
    uint64_t word = in_.in().varint();
    if (word >> 1 >= capture_.tracepoints.size()) return in_.fail();
    event.tracepoint = static_cast<uint32_t>(word >> 1);
    size_t fields = capture_.tracepoints[event.tracepoint].fields.size();
    if ((word & kFewerValues) != 0 && fields == 0) return in_.fail();
    // For value_counts(): one more than there can be says that the number is yet to come.
    event.values = static_cast<uint16_t>(fields);
    event.first_value = (word & kFewerValues) != 0 ? 1 : 0;
  }
}

void BlockDecoder::spans(std::span<Event> events) {
  uint64_t last = 0;
  for (Event& event : events) {
    uint64_t word = in_.in().varint();
    last += static_cast<uint64_t>(unzigzag(word >> 1));
    if (last >= capture_.span_sets.size()) return in_.fail();
    event.spans = static_cast<uint32_t>(last);
    event.spans_certain = (word & kSpansUncertain) == 0;
  }
}

uint64_t BlockDecoder::value_counts(std::span<Event> events, uint64_t first_value) {
  uint64_t next = first_value;
  for (Event& event : events) {
    if (event.first_value != 0) event.values = in_.number<uint16_t>(event.values - 1);
    event.first_value = static_cast<uint32_t>(next);
    next += event.values;
  }
  return next - first_value;
}

inline Value BlockDecoder::value(FieldType type) {
  switch (type) {
    case FieldType::kInteger:
      return Value::of_integer(in_.in().svarint());
    case FieldType::kNatural:
      return Value::of_natural(in_.in().varint());
    case FieldType::kReal:
      return Value::of_natural(in_.in().u64());
    case FieldType::kTruth:
      return Value::of_truth(in_.number<uint8_t>(1) != 0);
    case FieldType::kText:
    case FieldType::kBytes:
      break;
  }
  uint64_t word = in_.in().varint();
  uint64_t at = text_begin_ + text_bytes_;
  // A text takes its bytes from those behind the values.
  if (word >> 1 > Value::kMostTextBytes || (text_bytes_ += word >> 1) > in_.in().remaining()) in_.fail();
  return in_.failed() ? Value::of_natural(0) : Value::of_text(at, word >> 1, (word & 1) != 0);
}

void BlockDecoder::values(Thread& thread, std::span<const Event> events, uint64_t count) {
  text_begin_ = thread.texts.size();
  text_bytes_ = 0;
  // Each value takes a byte at least.
  if (count > in_.in().remaining()) return in_.fail();
  for (const Event& event : events) {
    const Field* fields = capture_.tracepoints[event.tracepoint].fields.data();
    for (size_t i = 0; i < event.values; ++i) thread.values.push_back(value(fields[i].type));
    if (in_.failed()) return;
  }
}

void BlockDecoder::texts(Thread& thread) {
  std::string_view bytes = in_.in().raw(text_bytes_);
  if (bytes.size() > left_[thread_].text_bytes) in_.fail();
  if (in_.failed()) return;
  left_[thread_].text_bytes -= bytes.size();
  thread.texts.append(bytes);
}

}  // namespace fathom::capture

#include "capture/body_encoder.h"

#include <cassert>

#include "capture/format.h"
#include "capture/string_table.h"

namespace fathom::capture {

namespace {

using namespace format;

class BodyEncoder {
 public:
  explicit BodyEncoder(const Capture& capture) : capture_(capture) {}
  BodyWriter encode();

 private:
  void text(std::string_view text) { out_.varint(strings_.number_of(text.substr(0, kMostTextBytes))); }
  void spans(const SpanRef& span);
  void head();
  void anchors();
  void tracepoints();
  void span_sets();
  void losses();
  void thread(const Thread& thread);
  void open_span(const OpenSpan& span);
  void events(const Thread& thread);
  void event_times(const std::vector<Event>& events);
  void event_tracepoints(const std::vector<Event>& events);
  void event_spans(const std::vector<Event>& events);
  void value_counts(const std::vector<Event>& events);
  void values(const Thread& thread);
  char* value(char* to, FieldType type, Value value);
  void texts(const Thread& thread);
  void kernel_events(const std::vector<KernelEvent>& events);
  void kernel_event(const KernelEvent& event);
  void string_table();

  const std::vector<Field>& fields_of(const Event& event) const {
    assert(event.tracepoint < capture_.tracepoints.size());
    return capture_.tracepoints[event.tracepoint].fields;
  }

  const Capture& capture_;
  BodyWriter out_;
  StringTable strings_;
  uint64_t value_count_ = 0;  // of the thread
  uint64_t text_bytes_ = 0;
};

bool is_text(FieldType type) {
  return type == FieldType::kText || type == FieldType::kBytes;
}

void BodyEncoder::spans(const SpanRef& span) {
  out_.raw(span.trace_id.view());
  out_.raw(span.span_id.view());
}

void BodyEncoder::head() {
  out_.varint(capture_.begin_nano);
  out_.difference(capture_.end_nano, capture_.begin_nano);
  out_.difference(capture_.events_complete_from_nano, capture_.begin_nano);
  out_.varint(capture_.kernel_complete_from_nano);
  out_.difference(capture_.trigger_nano, capture_.begin_nano);
  out_.varint(capture_.pid);
  out_.u8(capture_.ended ? kEnded : 0);
  text(capture_.kernel_missing);
  text(capture_.service);
  text(capture_.reason);
}

void BodyEncoder::anchors() {
  out_.varint(capture_.anchors.size());
  Anchor last;
  for (const Anchor& anchor : capture_.anchors) {
    assert(anchor.monotonic_nano >= last.monotonic_nano && anchor.epoch >= last.epoch);
    out_.varint(anchor.monotonic_nano - last.monotonic_nano);
    out_.difference(anchor.unix_nano, last.unix_nano);
    out_.varint(anchor.epoch - last.epoch);
    last = anchor;
  }
}

void BodyEncoder::tracepoints() {
  out_.varint(capture_.tracepoints.size());
  for (const Tracepoint& tracepoint : capture_.tracepoints) {
    text(tracepoint.name);
    text(tracepoint.file);
    out_.varint(tracepoint.line);
    out_.varint(tracepoint.fields.size());
    for (const Field& field : tracepoint.fields) {
      out_.u8(static_cast<uint8_t>(field.type));
      text(field.key);
    }
  }
}

void BodyEncoder::span_sets() {
  assert(!capture_.span_sets.empty() && capture_.span_sets[0].empty());
  out_.varint(capture_.span_sets.size() - 1);
  for (size_t i = 1; i < capture_.span_sets.size(); ++i) {
    out_.varint(capture_.span_sets[i].size());
    for (const SpanRef& span : capture_.span_sets[i]) spans(span);
  }
}

void BodyEncoder::losses() {
  out_.varint(capture_.losses.size());
  for (const auto& [name, count] : capture_.losses) {
    text(name);
    out_.varint(count);
  }
}

void BodyEncoder::open_span(const OpenSpan& span) {
  spans(span.span);
  out_.difference(span.start_nano, capture_.begin_nano);
  out_.u8(span.kind);
  text(span.name);
}

void BodyEncoder::thread(const Thread& thread) {
  out_.varint(thread.tid);
  text(thread.name);
  out_.varint(thread.open.size());
  for (const OpenSpan& span : thread.open) open_span(span);
  events(thread);
  kernel_events(thread.kernel_events);
}

// Column by column: what is alike lies side by side.
void BodyEncoder::events(const Thread& thread) {
  out_.varint(thread.events.size());
  event_times(thread.events);
  event_tracepoints(thread.events);
  event_spans(thread.events);
  value_counts(thread.events);
  values(thread);
  texts(thread);
}

void BodyEncoder::event_times(const std::vector<Event>& events) {
  char* to = out_.room(events.size() * kMostVarintBytes);
  uint64_t last = 0;
  for (const Event& event : events) {
    assert(event.monotonic_nano >= last);
    to = put_varint(to, event.monotonic_nano - last);
    last = event.monotonic_nano;
  }
  out_.advance(to);
}

void BodyEncoder::event_tracepoints(const std::vector<Event>& events) {
  char* to = out_.room(events.size() * kMostVarintBytes);
  value_count_ = 0;
  for (const Event& event : events) {
    size_t fields = fields_of(event).size();
    assert(event.values <= fields);
    to = put_varint(to, uint64_t{event.tracepoint} << 1 | (event.values < fields ? kFewerValues : 0));
    value_count_ += event.values;
  }
  out_.advance(to);
}

void BodyEncoder::event_spans(const std::vector<Event>& events) {
  char* to = out_.room(events.size() * kMostVarintBytes);
  int64_t last = 0;
  for (const Event& event : events) {
    assert(event.spans < capture_.span_sets.size());
    to = put_varint(to, zigzag(event.spans - last) << 1 | (event.spans_certain ? 0 : kSpansUncertain));
    last = event.spans;
  }
  out_.advance(to);
}

void BodyEncoder::value_counts(const std::vector<Event>& events) {
  for (const Event& event : events) {
    if (event.values < fields_of(event).size()) out_.varint(event.values);
  }
}

inline char* BodyEncoder::value(char* to, FieldType type, Value value) {
  if (type == FieldType::kNatural) return put_varint(to, value.natural());
  if (type == FieldType::kInteger) return put_varint(to, zigzag(value.integer()));
  if (type == FieldType::kTruth) return put_varint(to, value.truth() ? 1 : 0);
  if (is_text(type)) {
    text_bytes_ += value.text_bytes();
    return put_varint(to, value.text_bytes() << 1 | (value.is_cut() ? 1 : 0));
  }
  uint64_t bits = value.natural();
  std::memcpy(to, &bits, sizeof bits);
  return to + sizeof bits;
}

void BodyEncoder::values(const Thread& thread) {
  char* to = out_.room(value_count_ * kMostVarintBytes);
  text_bytes_ = 0;
  for (const Event& event : thread.events) {
    const Field* field = fields_of(event).data();
    for (Value it : thread.values_of(event)) to = value(to, (field++)->type, it);
  }
  out_.advance(to);
}

void BodyEncoder::texts(const Thread& thread) {
  char* to = out_.room(text_bytes_);
  for (const Event& event : thread.events) {
    const Field* field = fields_of(event).data();
    for (Value it : thread.values_of(event)) {
      if (!is_text((field++)->type)) continue;
      std::string_view text = thread.text_of(it);
      assert(text.size() == it.text_bytes());
      to = std::copy(text.begin(), text.end(), to);
    }
  }
  out_.advance(to);
}

// ---- the kernel's

uint8_t parts_of(const KernelEvent& event) {
  auto part = [](bool is_there, KernelPart bit) { return is_there ? bit : 0; };
  return static_cast<uint8_t>(part(event.other_pid != 0 || event.other_tid != 0, kOther) |
                              part(!event.other_name.empty(), kName) | part(event.end_nano != 0, kEnd) |
                              part(event.syscall != 0 || event.arguments[0] != 0 || event.arguments[1] != 0, kCall) |
                              part(event.result != 0, kCallEnd) |
                              part(event.address != 0 || event.instruction != 0 || event.fault != 0, kFault));
}

void BodyEncoder::kernel_events(const std::vector<KernelEvent>& events) {
  out_.varint(events.size());
  uint64_t last = 0;
  for (const KernelEvent& event : events) {
    assert(event.monotonic_nano >= last);
    out_.varint(event.monotonic_nano - last);
    last = event.monotonic_nano;
  }
  for (const KernelEvent& event : events) kernel_event(event);
}

void BodyEncoder::kernel_event(const KernelEvent& event) {
  uint8_t parts = parts_of(event);
  out_.u8(
      static_cast<uint8_t>(static_cast<unsigned>(event.kind) | static_cast<unsigned>(event.reason) << kReasonShift));
  out_.u8(parts);
  out_.varint(event.cpu);
  if ((parts & kOther) != 0) out_.svarint(event.other_pid);
  if ((parts & kOther) != 0) out_.svarint(event.other_tid);
  if ((parts & kName) != 0) text(event.other_name);
  if ((parts & kEnd) != 0) out_.difference(event.end_nano, event.monotonic_nano);
  if ((parts & kCall) != 0) {
    out_.svarint(event.syscall);
    for (uint64_t argument : event.arguments) out_.varint(argument);
  }
  if ((parts & kCallEnd) != 0) out_.svarint(event.result);
  if ((parts & kFault) != 0) {
    out_.varint(event.address);
    out_.varint(event.instruction);
    out_.varint(event.fault);
  }
}

// ---- the whole

void BodyEncoder::string_table() {
  out_.varint(strings_.texts().size() - 1);
  for (size_t i = 1; i < strings_.texts().size(); ++i) out_.string(strings_.texts()[i]);
}

BodyWriter BodyEncoder::encode() {
  out_.u64(0);  // where the strings are: known at the end
  head();
  anchors();
  tracepoints();
  span_sets();
  losses();
  out_.varint(capture_.threads.size());
  for (const Thread& it : capture_.threads) thread(it);
  out_.put_u64_at(0, out_.size());
  string_table();
  return std::move(out_);
}

}  // namespace

BodyWriter encode_body(const Capture& capture) {
  return BodyEncoder(capture).encode();
}

}  // namespace fathom::capture

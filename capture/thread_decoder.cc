#include "capture/thread_decoder.h"

#include <algorithm>

namespace fathom::capture {

using namespace format;

void ThreadDecoder::decode(Thread& thread) {
  thread.tid = in_.in().varint32();
  thread.name = in_.text();
  thread.open.resize(in_.count(kLeastOpenSpan, sizeof(OpenSpan)));
  for (OpenSpan& open : thread.open) {
    open = open_span();
    if (in_.failed()) return;
  }
  events(thread);
  if (!in_.failed()) kernel_events(thread.kernel_events);
}

OpenSpan ThreadDecoder::open_span() {
  OpenSpan open;
  open.span = in_.span();
  open.start_nano = in_.apart(capture_.begin_nano);
  open.kind = in_.in().u8();
  open.name = in_.text();
  return open;
}

void ThreadDecoder::events(Thread& thread) {
  thread.events.resize(in_.count(kLeastEvent, sizeof(Event)));
  uint64_t last = 0;
  for (Event& event : thread.events) last = event.monotonic_nano = in_.not_before(last);
  event_tracepoints(thread.events);
  event_spans(thread.events);
  if (in_.failed()) return;
  uint64_t many = value_counts(thread.events);
  // Each value takes a byte at least.
  if (many > std::min<uint64_t>(in_.in().remaining(), UINT32_MAX)) in_.fail();
  if (in_.failed() || !in_.charge(many * sizeof(Value))) return;
  values(thread, many);
  texts(thread);
}

void ThreadDecoder::event_tracepoints(std::vector<Event>& events) {
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

void ThreadDecoder::event_spans(std::vector<Event>& events) {
  uint64_t last = 0;
  for (Event& event : events) {
    uint64_t word = in_.in().varint();
    last += static_cast<uint64_t>(unzigzag(word >> 1));
    if (last >= capture_.span_sets.size()) return in_.fail();
    event.spans = static_cast<uint32_t>(last);
    event.spans_certain = (word & kSpansUncertain) == 0;
  }
}

uint64_t ThreadDecoder::value_counts(std::vector<Event>& events) {
  uint64_t sum = 0;
  for (Event& event : events) {
    if (event.first_value != 0) event.values = in_.number<uint16_t>(event.values - 1);
    event.first_value = static_cast<uint32_t>(sum);
    sum += event.values;
  }
  return sum;
}

inline Value ThreadDecoder::value(FieldType type) {
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
  uint64_t at = text_bytes_;
  // A text takes its bytes from those behind the values.
  if (word >> 1 > Value::kMostTextBytes || (text_bytes_ += word >> 1) > in_.in().remaining()) in_.fail();
  return in_.failed() ? Value::of_natural(0) : Value::of_text(at, word >> 1, (word & 1) != 0);
}

void ThreadDecoder::values(Thread& thread, uint64_t count) {
  thread.values.reserve(count);
  text_bytes_ = 0;
  for (const Event& event : thread.events) {
    const Field* fields = capture_.tracepoints[event.tracepoint].fields.data();
    for (size_t i = 0; i < event.values; ++i) thread.values.push_back(value(fields[i].type));
    if (in_.failed()) return;
  }
}

void ThreadDecoder::texts(Thread& thread) {
  std::string_view bytes = in_.in().raw(text_bytes_);
  if (!in_.failed() && in_.charge(bytes.size())) thread.texts = bytes;
}

void ThreadDecoder::kernel_events(std::vector<KernelEvent>& events) {
  events.resize(in_.count(kLeastKernelEvent, sizeof(KernelEvent)));
  uint64_t last = 0;
  for (KernelEvent& event : events) last = event.monotonic_nano = in_.not_before(last);
  for (KernelEvent& event : events) {
    kernel_event(event);
    if (in_.failed()) return;
  }
}

void ThreadDecoder::kernel_kind(KernelEvent& event) {
  unsigned byte = in_.in().u8();
  unsigned kind = byte & ((1U << kReasonShift) - 1);
  unsigned reason = byte >> kReasonShift;
  if (kind < static_cast<unsigned>(KernelEventKind::kSwitchedOut) ||
      kind > static_cast<unsigned>(KernelEventKind::kRename) || reason > static_cast<unsigned>(SwitchReason::kEnded)) {
    return in_.fail();
  }
  event.kind = static_cast<KernelEventKind>(kind);
  event.reason = static_cast<SwitchReason>(reason);
}

void ThreadDecoder::kernel_event(KernelEvent& event) {
  kernel_kind(event);
  uint8_t parts = in_.in().u8();
  if (parts > kAllParts) in_.fail();
  event.cpu = in_.number<uint16_t>(UINT16_MAX);
  if ((parts & kOther) != 0) event.other_pid = in_.signed_number<int32_t>();
  if ((parts & kOther) != 0) event.other_tid = in_.signed_number<int32_t>();
  if ((parts & kName) != 0) event.other_name = in_.text();
  if ((parts & kEnd) != 0) event.end_nano = in_.apart(event.monotonic_nano);
  if ((parts & kCall) != 0) {
    event.syscall = in_.signed_number<int32_t>();
    for (uint64_t& argument : event.arguments) argument = in_.in().varint();
  }
  if ((parts & kCallEnd) != 0) event.result = in_.in().svarint();
  if ((parts & kFault) != 0) {
    event.address = in_.in().varint();
    event.instruction = in_.in().varint();
    event.fault = in_.in().varint32();
  }
}

}  // namespace fathom::capture

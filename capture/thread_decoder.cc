#include "capture/thread_decoder.h"

namespace fathom::capture {

using namespace format;

ThreadTotals ThreadDecoder::decode(Thread& thread) {
  thread.tid = in_.in().varint32();
  thread.name = in_.text();
  thread.open.resize(in_.count(kLeastOpenSpan, sizeof(OpenSpan)));
  for (OpenSpan& open : thread.open) {
    open = open_span();
    if (in_.failed()) return {};
  }
  kernel_events(thread.kernel_events);
  return totals();
}

OpenSpan ThreadDecoder::open_span() {
  OpenSpan open;
  open.span = in_.span();
  open.start_nano = in_.apart(capture_.begin_nano);
  open.kind = in_.in().u8();
  open.name = in_.text();
  return open;
}

ThreadTotals ThreadDecoder::totals() {
  ThreadTotals totals;
  totals.events = in_.in().varint();
  totals.values = in_.in().varint();
  totals.text_bytes = in_.in().varint();
  return totals;
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

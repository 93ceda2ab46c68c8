#include "capture/tables_encoder.h"

#include <cassert>

#include "capture/body_writer.h"
#include "capture/format.h"
#include "capture/string_table.h"

namespace fathom::capture {

namespace {

using namespace format;

class TablesEncoder {
 public:
  TablesEncoder(const Capture& capture, const TotalsByThread& totals) : capture_(capture), totals_(totals) {}
  void encode(BodySink& sink);

 private:
  void text(std::string_view text) { out_.varint(strings_.number_of(text.substr(0, kMostTextBytes))); }
  void spans(const SpanRef& span);
  void head();
  void anchors();
  void tracepoints();
  void span_sets();
  void losses();
  void threads();
  void thread(const Thread& thread);
  void open_span(const OpenSpan& span);
  void kernel_events(const std::vector<KernelEvent>& events);
  void kernel_event(const KernelEvent& event);
  BodyWriter string_table() const;

  const Capture& capture_;
  const TotalsByThread& totals_;
  BodyWriter out_;
  StringTable strings_;
};

void TablesEncoder::spans(const SpanRef& span) {
  out_.raw(span.trace_id.view());
  out_.raw(span.span_id.view());
}

void TablesEncoder::head() {
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

void TablesEncoder::anchors() {
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

void TablesEncoder::tracepoints() {
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

void TablesEncoder::span_sets() {
  assert(!capture_.span_sets.empty() && capture_.span_sets[0].empty());
  out_.varint(capture_.span_sets.size() - 1);
  for (size_t i = 1; i < capture_.span_sets.size(); ++i) {
    out_.varint(capture_.span_sets[i].size());
    for (const SpanRef& span : capture_.span_sets[i]) spans(span);
  }
}

void TablesEncoder::losses() {
  out_.varint(capture_.losses.size());
  for (const auto& [name, count] : capture_.losses) {
    text(name);
    out_.varint(count);
  }
}

void TablesEncoder::open_span(const OpenSpan& span) {
  spans(span.span);
  out_.difference(span.start_nano, capture_.begin_nano);
  out_.u8(span.kind);
  text(span.name);
}

void TablesEncoder::thread(const Thread& thread) {
  out_.varint(thread.tid);
  text(thread.name);
  out_.varint(thread.open.size());
  for (const OpenSpan& span : thread.open) open_span(span);
  kernel_events(thread.kernel_events);
  auto found = totals_.find(thread.tid);
  ThreadTotals totals = found == totals_.end() ? ThreadTotals() : found->second;
  out_.varint(totals.events);
  out_.varint(totals.values);
  out_.varint(totals.text_bytes);
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

void TablesEncoder::kernel_events(const std::vector<KernelEvent>& events) {
  out_.varint(events.size());
  uint64_t last = 0;
  for (const KernelEvent& event : events) {
    assert(event.monotonic_nano >= last);
    out_.varint(event.monotonic_nano - last);
    last = event.monotonic_nano;
  }
  for (const KernelEvent& event : events) kernel_event(event);
}

void TablesEncoder::kernel_event(const KernelEvent& event) {
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

void TablesEncoder::threads() {
  out_.varint(capture_.threads.size());
  const Thread* last = nullptr;
  for (const Thread& it : capture_.threads) {
    assert(last == nullptr || last->tid < it.tid);
    last = &it;
    thread(it);
  }
}

BodyWriter TablesEncoder::string_table() const {
  BodyWriter table;
  table.varint(strings_.texts().size() - 1);
  for (size_t i = 1; i < strings_.texts().size(); ++i) table.string(strings_.texts()[i]);
  return table;
}

// The strings are known last, and read first.
void TablesEncoder::encode(BodySink& sink) {
  head();
  anchors();
  tracepoints();
  span_sets();
  losses();
  threads();
  sink.append(string_table().view());
  sink.append(out_.view());
}

}  // namespace

void encode_tables(const Capture& capture, const TotalsByThread& totals, BodySink& sink) {
  TablesEncoder(capture, totals).encode(sink);
}

}  // namespace fathom::capture

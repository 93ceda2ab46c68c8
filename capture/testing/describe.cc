#include "capture/testing/describe.h"

#include <sstream>

namespace fathom::capture::testing {

namespace {

std::string describe(const std::vector<SpanRef>& spans) {
  std::string text;
  for (const SpanRef& ref : spans) text += " " + ref.trace_id.hex() + "/" + ref.span_id.hex();
  return text;
}

void describe(std::ostream& out, const Thread& thread, Value value, FieldType type) {
  if (type == FieldType::kInteger) out << value.integer();
  if (type == FieldType::kNatural) out << value.natural();
  if (type == FieldType::kReal) out << value.real();
  if (type == FieldType::kTruth) out << (value.truth() ? "true" : "false");
  if (type == FieldType::kText) out << '"' << thread.text_of(value) << '"';
  if (type == FieldType::kBytes) out << "0x" << to_hex(thread.text_of(value));
  if ((type == FieldType::kText || type == FieldType::kBytes) && value.is_cut()) out << "...";
}

void describe(std::ostream& out, const Capture& capture, const Thread& thread, const Event& event) {
  const Tracepoint& tracepoint = capture.tracepoints[event.tracepoint];
  out << "  " << event.monotonic_nano << " " << tracepoint.name << " spans " << event.spans
      << (event.spans_certain ? "" : "?");
  for (size_t i = 0; i < event.values; ++i) {
    out << " " << tracepoint.fields[i].key << "=";
    describe(out, thread, thread.values_of(event)[i], tracepoint.fields[i].type);
  }
  out << "\n";
}

void describe(std::ostream& out, const KernelEvent& event) {
  out << "  kernel " << event.monotonic_nano << ".." << event.end_nano << " kind " << static_cast<int>(event.kind)
      << " reason " << static_cast<int>(event.reason) << " cpu " << event.cpu << " other " << event.other_pid << "/"
      << event.other_tid << " '" << event.other_name << "' call " << event.syscall << "(" << event.arguments[0] << ","
      << event.arguments[1] << ")=" << event.result << " fault " << event.address << "@" << event.instruction << ":"
      << event.fault << "\n";
}

void describe(std::ostream& out, const Capture& capture, const Thread& thread) {
  out << "thread " << thread.tid << " '" << thread.name << "'\n";
  for (const OpenSpan& open : thread.open) {
    out << "  open" << describe({open.span}) << " " << open.start_nano << " kind " << int{open.kind} << " '"
        << open.name << "'\n";
  }
  for (const Event& event : thread.events) describe(out, capture, thread, event);
  for (const KernelEvent& event : thread.kernel_events) describe(out, event);
}

void describe_tables(std::ostream& out, const Capture& capture) {
  for (const Anchor& anchor : capture.anchors) {
    out << "anchor " << anchor.monotonic_nano << " " << anchor.unix_nano << " epoch " << anchor.epoch << "\n";
  }
  for (const Tracepoint& tracepoint : capture.tracepoints) {
    out << "tracepoint " << tracepoint.name << " " << tracepoint.file << ":" << tracepoint.line;
    for (const Field& field : tracepoint.fields) out << " " << field.key << ":" << static_cast<int>(field.type);
    out << "\n";
  }
  for (const std::vector<SpanRef>& set : capture.span_sets) out << "spans" << describe(set) << "\n";
  for (const auto& [name, count] : capture.losses) out << "lost " << name << " " << count << "\n";
}

}  // namespace

std::string describe(const Capture& capture) {
  std::ostringstream out;
  out << "window " << capture.begin_nano << ".." << capture.end_nano << " events from "
      << capture.events_complete_from_nano << " kernel from " << capture.kernel_complete_from_nano << " '"
      << capture.kernel_missing << "' triggered " << capture.trigger_nano << " pid " << capture.pid << " '"
      << capture.service << "' '" << capture.reason << "'" << (capture.ended ? " ended" : "") << "\n";
  describe_tables(out, capture);
  for (const Thread& thread : capture.threads) describe(out, capture, thread);
  return out.str();
}

}  // namespace fathom::capture::testing

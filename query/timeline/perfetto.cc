// A timeline as a trace of Perfetto's (docs/formats/perfetto.md): rows for processes and threads, slices for spans and
// system calls, instants for events and page faults.
#include <algorithm>
#include <map>

#include "perfetto/trace.pb.h"
#include "query/timeline/meter.h"
#include "query/timeline/perfetto_names.h"
#include "query/timeline/perfetto_sched.h"
#include "query/timeline/syscall_names.h"
#include "query/timeline/timeline_query.h"

namespace fathom::query {

namespace {

namespace pb = perfetto::protos;
using capture::FieldType;

constexpr uint32_t kSequence = 1;
constexpr uint32_t kRealtime = 1;
constexpr uint32_t kBoottime = 6;

void annotate(pb::TrackEvent& event, std::string_view name, std::string_view text) {
  pb::DebugAnnotation& annotation = *event.add_debug_annotations();
  annotation.set_name(utf8(name));
  annotation.set_string_value(utf8(text));
}
void annotate(pb::TrackEvent& event, std::string_view name, int64_t number) {
  pb::DebugAnnotation& annotation = *event.add_debug_annotations();
  annotation.set_name(utf8(name));
  annotation.set_int_value(number);
}
void annotate(pb::TrackEvent& event, std::string_view name, bool truth) {
  pb::DebugAnnotation& annotation = *event.add_debug_annotations();
  annotation.set_name(utf8(name));
  annotation.set_bool_value(truth);
}

void set_value(pb::DebugAnnotation& out, const capture::Thread& thread, FieldType type, capture::Value value) {
  switch (type) {
    case FieldType::kInteger:
      return out.set_int_value(value.integer());
    case FieldType::kNatural:
      return out.set_uint_value(value.natural());
    case FieldType::kReal:
      return out.set_double_value(value.real());
    case FieldType::kTruth:
      return out.set_bool_value(value.truth());
    case FieldType::kText:
      return out.set_string_value(utf8(thread.text_of(value)));
    case FieldType::kBytes:
      return out.set_string_value(to_hex(thread.text_of(value)));
  }
}

// A slice of one row, before rows are cut into those that nest: a span, or a system call.
struct Piece {
  uint64_t begin = 0;
  uint64_t end = 0;
  const TimelineSpan* span = nullptr;
  const TimelineCall* call = nullptr;
};

constexpr size_t kMostRows = 64;

// Slices of one row must nest: what would cross the end of what is around it goes to the next row, if there may be one
// more. Pieces are sorted; the result has a row's number for each.
std::vector<size_t> rows_of(const std::vector<Piece>& pieces) {
  std::vector<std::vector<uint64_t>> open;  // for each row, the ends of what is open, the innermost last
  std::vector<size_t> rows;
  for (const Piece& piece : pieces) {
    size_t row = 0;
    for (;; ++row) {
      if (row == open.size()) open.emplace_back();
      auto& ends = open[row];
      while (!ends.empty() && ends.back() <= piece.begin) ends.pop_back();
      if (ends.empty() || piece.end <= ends.back() || row + 1 == kMostRows) break;
    }
    open[row].push_back(piece.end);
    rows.push_back(row);
  }
  return rows;
}

pb::TrackEvent span_event(const TimelineSpan& span) {
  pb::TrackEvent event;
  event.set_name(utf8(span.operation));
  event.add_categories("span");
  annotate(event, "span_id", span.span_id.hex());
  annotate(event, "service", span.service);
  annotate(event, "kind", store::span_kind_name(static_cast<store::SpanKind>(span.kind)));
  annotate(event, "status", store::status_code_name(span.status));
  if (span.open) annotate(event, "open", true);
  if (span.guessed_thread) annotate(event, "thread_guessed", true);
  if (span.end_tid != 0) annotate(event, "start_tid", int64_t{span.start_tid});
  if (span.end_tid != 0) annotate(event, "end_tid", int64_t{span.end_tid});
  return event;
}

pb::TrackEvent call_event(const TimelineCall& call) {
  pb::TrackEvent event;
  event.set_name(std::string(call_name(call.event->syscall)));
  event.add_categories("system call");
  annotate(event, "argument 1", "0x" + hex_number(call.event->arguments[0]));
  annotate(event, "argument 2", "0x" + hex_number(call.event->arguments[1]));
  if (std::string operation = call_operation(*call.event); !operation.empty()) annotate(event, "operation", operation);
  if (call.event->kind == capture::KernelEventKind::kSyscallUnderWay) {
    annotate(event, "under_way", true);
  } else {
    annotate(event, "result", call.event->result);
    if (std::string error = error_name(call.event->result); !error.empty()) annotate(event, "error", error);
  }
  return event;
}

// Of what an event says about as many bytes as that takes.
uint64_t text_bytes(const TimelineEvent& given) {
  const capture::Event& event = *given.event;
  if (event.tracepoint >= given.content->tracepoints.size()) return 0;
  const capture::Tracepoint& place = given.content->tracepoints[event.tracepoint];
  auto values = given.thread->values_of(event);
  uint64_t bytes = place.name.size() + place.file.size();
  for (size_t i = 0; i < std::min(values.size(), place.fields.size()); ++i) {
    FieldType type = place.fields[i].type;
    bytes += sizeof(pb::DebugAnnotation) + place.fields[i].key.size();
    if (type == FieldType::kText || type == FieldType::kBytes) bytes += values[i].text_bytes();
  }
  return bytes;
}

pb::TrackEvent event_event(const TimelineEvent& given) {
  pb::TrackEvent event;
  event.add_categories("event");
  if (!given.span_id.is_zero()) annotate(event, "span_id", given.span_id.hex());
  if (given.event->tracepoint >= given.content->tracepoints.size()) return event;
  const capture::Tracepoint& place = given.content->tracepoints[given.event->tracepoint];
  event.set_name(utf8(place.name));
  event.mutable_source_location()->set_file_name(utf8(place.file));
  event.mutable_source_location()->set_line_number(place.line);
  auto values = given.thread->values_of(*given.event);
  for (size_t i = 0; i < std::min(values.size(), place.fields.size()); ++i) {
    pb::DebugAnnotation& annotation = *event.add_debug_annotations();
    annotation.set_name(utf8(place.fields[i].key));
    set_value(annotation, *given.thread, place.fields[i].type, values[i]);
  }
  return event;
}

pb::TrackEvent fault_event(const TimelineFault& fault) {
  pb::TrackEvent event;
  event.set_name("page fault");
  event.add_categories("page fault");
  annotate(event, "address", "0x" + hex_number(fault.event->address));
  annotate(event, "instruction", "0x" + hex_number(fault.event->instruction));
  return event;
}

class PerfettoTrace {
 public:
  PerfettoTrace(const Timeline& timeline, store::QueryBudget& budget)
      : timeline_(timeline), names_(timeline), meter_(budget) {}

  Result<std::string> write() {
    write_clocks();
    for (const auto& process : timeline_.processes) {
      if (meter_.going_on()) write_process(process);
    }
    write_scheduling(timeline_, names_, meter_, [this](pb::FtraceEventBundle bundle) {
      *packet().mutable_ftrace_events() = std::move(bundle);
      flush();
    });
    if (!meter_.going_on()) return meter_.result().error();
    return std::move(out_);
  }

 private:
  pb::TracePacket& packet() {
    packet_.Clear();
    packet_.set_trusted_packet_sequence_id(kSequence);
    return packet_;
  }
  // A Trace is its packets one after the other: no message of the whole is ever made. Without budget nothing is
  // written.
  void flush() {
    if (!meter_.going_on()) return;
    pb::Trace one;
    one.add_packet()->Swap(&packet_);
    one.AppendToString(&out_);
    meter_.written(out_.size());
  }

  // The trace's BOOTTIME is the calendar: all nodes share it.
  void write_clocks() {
    pb::TracePacket& with = packet();
    with.set_timestamp(timeline_.begin_unix_nano);
    for (uint32_t id : {kRealtime, kBoottime}) {
      auto& clock = *with.mutable_clock_snapshot()->add_clocks();
      clock.set_clock_id(id);
      clock.set_timestamp(timeline_.begin_unix_nano);
    }
    with.mutable_clock_snapshot()->set_primary_trace_clock(kBoottime);
    flush();
  }

  void write_process(const TimelineProcess& process) {
    const int32_t pid = names_.pid_of(process);
    const uint64_t track = next_track_++;
    auto& described = *packet().mutable_track_descriptor();
    described.set_uuid(track);
    described.mutable_process()->set_pid(pid);
    described.mutable_process()->set_process_name(names_.process_name(process));
    flush();
    for (const auto& thread : process.threads) {
      if (meter_.going_on()) write_thread(process, thread, pid);
    }
    std::vector<Piece> spans;
    add_spans(spans, process.spans);
    write_rows(std::move(spans), track, "spans", true);
  }

  void write_thread(const TimelineProcess& process, const TimelineThread& thread, int32_t pid) {
    const uint64_t track = next_track_++;
    auto& described = *packet().mutable_track_descriptor();
    described.set_uuid(track);
    described.mutable_thread()->set_pid(pid);
    described.mutable_thread()->set_tid(names_.tid_of(process, thread.tid));
    described.mutable_thread()->set_thread_name(utf8(thread.name));
    flush();
    std::vector<Piece> pieces;
    add_spans(pieces, thread.spans);
    for (const auto& call : thread.calls) {
      pieces.push_back({call.begin_unix_nano, call.end_unix_nano, nullptr, &call});
    }
    write_rows(std::move(pieces), track, "more of " + utf8(thread.name), false);
    for (const auto& event : thread.events) {
      if (!meter_.written(out_.size() + text_bytes(event))) return;
      write_instant(event.unix_nano, track, event_event(event));
    }
    for (const auto& fault : thread.faults) {
      if (meter_.going_on()) write_instant(fault.unix_nano, track, fault_event(fault));
    }
  }

  static void add_spans(std::vector<Piece>& pieces, const std::vector<TimelineSpan>& spans) {
    for (const auto& span : spans) pieces.push_back({span.begin_unix_nano, span.end_unix_nano, &span, nullptr});
  }

  // The first row is `track` itself, unless all get a row of their own.
  void write_rows(std::vector<Piece> pieces, uint64_t track, const std::string& name, bool own_rows) {
    std::ranges::stable_sort(
        pieces, [](const Piece& a, const Piece& b) { return a.begin != b.begin ? a.begin < b.begin : a.end > b.end; });
    std::vector<size_t> rows = rows_of(pieces);
    std::map<size_t, uint64_t> tracks;
    if (!own_rows) tracks[0] = track;
    for (size_t i = 0; i < pieces.size() && meter_.going_on(); ++i) {
      auto [found, fresh] = tracks.try_emplace(rows[i], 0);
      if (fresh) found->second = write_row(track, name);
      write_slice(pieces[i], found->second);
    }
  }

  uint64_t write_row(uint64_t parent, const std::string& name) {
    auto& described = *packet().mutable_track_descriptor();
    described.set_uuid(next_track_);
    described.set_parent_uuid(parent);
    described.set_name(name);
    flush();
    return next_track_++;
  }

  void write_slice(const Piece& piece, uint64_t track) {
    pb::TrackEvent event = piece.span != nullptr ? span_event(*piece.span) : call_event(*piece.call);
    write_event(piece.begin, track, pb::TrackEvent::TYPE_SLICE_BEGIN, std::move(event));
    write_event(piece.end, track, pb::TrackEvent::TYPE_SLICE_END, {});
  }

  void write_instant(uint64_t unix_nano, uint64_t track, pb::TrackEvent event) {
    write_event(unix_nano, track, pb::TrackEvent::TYPE_INSTANT, std::move(event));
  }

  void write_event(uint64_t unix_nano, uint64_t track, pb::TrackEvent::Type type, pb::TrackEvent event) {
    packet().set_timestamp(unix_nano);
    event.set_type(type);
    event.set_track_uuid(track);
    *packet_.mutable_track_event() = std::move(event);
    flush();
  }

  const Timeline& timeline_;
  const PerfettoNames names_;
  Meter meter_;
  std::string out_;
  pb::TracePacket packet_;
  uint64_t next_track_ = 1;
};

}  // namespace

Result<std::string> timeline_perfetto(const Timeline& timeline, store::QueryBudget& budget) {
  return PerfettoTrace(timeline, budget).write();
}

}  // namespace fathom::query

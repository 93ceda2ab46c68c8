// Timeline: what the threads of a request's processes did, joined with its spans: the answer before it is written down.
//
// Purpose: one model for JSON and for Perfetto. Ownership: a Timeline owns the captures and the stored trace that all
// else points into; it can be moved, not copied. Thread safety: a plain value. Units: nanoseconds of the calendar,
// corrected by each process's measured clock offset; what one process did is placed by one and the same offset.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "capture/capture.h"
#include "query/snapshots/snapshot_index.h"
#include "query/timeline/origin.h"
#include "query/timeline/thread_states.h"
#include "query/timeline/wait_sums.h"
#include "store/capture_store.h"

namespace fathom::query {

struct TimelineCapture {
  store::StoredCapture stored;
  std::unique_ptr<capture::Capture> content;  // nothing: `problem` says why
  std::string problem;
  std::optional<ClockOffset> clock;  // that was applied: its own, or that of its process's spans

  uint64_t unix_nano(uint64_t monotonic_nano) const;
};

struct TimelineSpan {
  TraceId trace_id;  // zero: the timeline's own
  SpanId span_id;
  SpanId parent_span_id;  // zero: a root, or not known of a span that is not stored
  std::string_view service;
  std::string_view operation;
  uint8_t kind = 0;
  store::StatusCode status = store::StatusCode::kUnset;
  uint64_t begin_unix_nano = 0;
  uint64_t end_unix_nano = 0;   // of an open one: when its capture was made
  bool open = false;            // it was not over, and has not been stored since
  bool guessed_thread = false;  // nothing says so (span_places.h)
  uint32_t start_tid = 0;       // of one that ended on another thread than it started on: the two; else 0
  uint32_t end_tid = 0;
  StateTotals totals;           // of its thread, while it lasted
  std::string_view longest_in;  // what the longest wait was in: a system call, "page fault"; empty: not known
  WaitSums waits;               // as the totals
};

struct TimelineEvent {
  uint64_t unix_nano = 0;
  const capture::Capture* content = nullptr;
  const capture::Thread* thread = nullptr;
  const capture::Event* event = nullptr;
  SpanId span_id;                                // of this trace; zero: none
  bool other = false;                            // of a trace: it belongs to spans of others only
  const capture::SpanRef* other_span = nullptr;  // the first of these; of no trace: the first that it belongs to
};

struct TimelineCall {
  uint64_t begin_unix_nano = 0;
  uint64_t end_unix_nano = 0;
  const capture::KernelEvent* event = nullptr;
  bool begin_known = true;
  StateTotals totals;
  WaitSums waits;  // where there is more than one, and one for a processor; all of them are in this call
};

struct TimelineFault {
  uint64_t unix_nano = 0;
  const capture::KernelEvent* event = nullptr;
};

struct TimelineState {
  StateInterval interval;  // its times are of the calendar, too
  std::string_view in;     // as TimelineSpan::longest_in
};

// Items of a thread that are not listed, for there are too many.
struct TimelineGap {
  std::string_view items;  // "events", "system_calls", "states", "page_faults"
  uint64_t count = 0;
  uint64_t begin_unix_nano = 0;  // of the first of them
  uint64_t end_unix_nano = 0;    // where the last of them begins
};

struct TimelineThread {
  uint32_t tid = 0;
  std::string_view name;
  bool of_trace = false;  // it served this trace
  uint64_t begin_unix_nano = 0;
  uint64_t end_unix_nano = 0;  // what is told of it
  std::vector<TimelineSpan> spans;
  std::vector<TimelineEvent> events;
  std::vector<TimelineState> states;
  std::vector<TimelineCall> calls;
  std::vector<TimelineFault> faults;
  uint64_t other_events = 0;      // that are not listed: of other requests, or of none
  uint64_t left_out = 0;          // beyond the limit of items
  std::vector<TimelineGap> gaps;  // where they are
  StateTotals totals;
  WaitSums waits;
  uint64_t ended_waits_nano = 0;  // how long threads of the trace waited for it, or for what it ended (thread_order.h)
};

// Why a process has no capture of this request.
struct NoCapture {
  std::string_view reason;                               // a SkipReason's name, or one of no_capture.h
  std::string explanation;                               // for people
  std::string node;                                      // whose agent says so; empty: none does
  std::optional<CaptureTrigger> trigger = std::nullopt;  // that was skipped
  bool is_partial = false;                               // there are captures of it, but not of all of its time
};

struct TimelineProcess {
  store::NodeId node_id;  // zero: not known, then nothing of it is captured
  std::string host_name;
  std::string service;
  uint32_t pid = 0;                                    // as its node numbers it, where the node is known
  std::vector<size_t> captures;                        // indexes, by begin of their windows
  bool captures_left_out = false;                      // as Timeline::left_out_of
  std::vector<TimelineThread> threads;                 // those that explain the request first (thread_order.h)
  std::vector<TimelineSpan> spans;                     // whose thread is not known
  uint64_t other_threads = 0;                          // that are not listed
  std::optional<NoCapture> no_capture = std::nullopt;  // as no_capture.h has it
};

struct Timeline {
  TraceId trace_id;  // zero: of a capture that is of no trace
  uint64_t begin_unix_nano = 0;
  uint64_t end_unix_nano = 0;
  bool complete = false;
  uint64_t left_out = 0;
  std::vector<TimelineCapture> captures;
  uint64_t captures_left_out = 0;  // of other requests; a search for them that failed counts as one
  std::set<Origin> left_out_of;    // whose time other requests' captures may have, but are left out or not searched for
  std::vector<TimelineProcess> processes;
  std::vector<SharedSummary> snapshots;  // of the trace
  store::StoredTrace trace;
};

}  // namespace fathom::query

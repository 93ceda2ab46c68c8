// Timeline: what the threads of a request's processes did, joined with its spans: the model of the answer.
//
// Purpose: one model for JSON and for Perfetto. Ownership: a Timeline owns the captures and the stored trace that its
// other members point to; it can be moved, not copied. Thread safety: a plain value. Units: nanoseconds of the
// calendar, corrected by the measured clock offset; all times of one process use one offset.
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
  std::unique_ptr<capture::Capture> content;  // nothing: `problem` has the reason
  std::string problem;
  std::optional<ClockOffset> clock;  // the applied offset: its own, or that of its process's spans

  uint64_t unix_nano(uint64_t monotonic_nano) const;
};

struct TimelineSpan {
  TraceId trace_id;  // zero: the timeline's own
  SpanId span_id;
  SpanId parent_span_id;  // zero: a root, or unknown because the span is not stored
  std::string_view service;
  std::string_view operation;
  uint8_t kind = 0;
  store::StatusCode status = store::StatusCode::kUnset;
  uint64_t begin_unix_nano = 0;
  uint64_t end_unix_nano = 0;   // of an open span: when its capture was made
  bool open = false;            // it had not ended when captured, and is not stored
  bool guessed_thread = false;  // the thread is a guess (span_places.h)
  uint32_t start_tid = 0;       // with end_tid: the threads of a span that ended on another one than its first; else 0
  uint32_t end_tid = 0;
  StateTotals totals;           // of its thread, while it lasted
  std::string_view longest_in;  // the place of the longest wait: a system call, "page fault"; empty: unknown
  WaitSums waits;               // in the same time as the totals
};

struct TimelineEvent {
  uint64_t unix_nano = 0;
  const capture::Capture* content = nullptr;
  const capture::Thread* thread = nullptr;
  const capture::Event* event = nullptr;
  SpanId span_id;                                // of this trace; zero: none
  bool other = false;                            // it belongs to spans of other traces only
  const capture::SpanRef* other_span = nullptr;  // the first of these; without a trace: the first span of the event
};

struct TimelineCall {
  uint64_t begin_unix_nano = 0;
  uint64_t end_unix_nano = 0;
  const capture::KernelEvent* event = nullptr;
  bool begin_known = true;
  StateTotals totals;
  WaitSums waits;  // only if there are several besides one for a processor; all of them are in this call
};

struct TimelineFault {
  uint64_t unix_nano = 0;
  const capture::KernelEvent* event = nullptr;
};

struct TimelineState {
  StateInterval interval;  // its times are also of the calendar
  std::string_view in;     // as TimelineSpan::longest_in
};

// Items of a thread that are left out because of the limit.
struct TimelineGap {
  std::string_view items;  // "events", "system_calls", "states", "page_faults"
  uint64_t count = 0;
  uint64_t begin_unix_nano = 0;  // of the first item
  uint64_t end_unix_nano = 0;    // the begin of the last item
};

struct TimelineThread {
  uint32_t tid = 0;
  std::string_view name;
  bool of_trace = false;    // it has spans or events of this trace
  bool is_captured = true;  // false: only spans name it, no capture has it
  uint64_t begin_unix_nano = 0;
  uint64_t end_unix_nano = 0;  // the end of its last listed item
  std::vector<TimelineSpan> spans;
  std::vector<TimelineEvent> events;
  std::vector<TimelineState> states;
  std::vector<TimelineCall> calls;
  std::vector<TimelineFault> faults;
  uint64_t other_events = 0;      // events of other requests, or of none, that are not listed
  uint64_t left_out = 0;          // items beyond the limit
  std::vector<TimelineGap> gaps;  // the ranges of the left out items
  StateTotals totals;
  WaitSums waits;
  uint64_t ended_waits_nano = 0;  // time that threads of the trace waited for it, also indirectly (thread_order.h)
};

// Why a process has no capture of this request.
struct NoCapture {
  std::string_view reason;                               // name of a SkipReason, or a reason of no_capture.h
  std::string explanation;                               // for people
  std::string node;                                      // the node whose agent reported it; empty: no report
  std::optional<CaptureTrigger> trigger = std::nullopt;  // the skipped trigger
  bool is_partial = false;                               // captures cover a part of the process's time
};

struct TimelineProcess {
  store::NodeId node_id;  // zero: unknown; the process then has no captures
  std::string host_name;
  std::string service;
  uint32_t pid = 0;                                    // the node's number, if the node is known
  std::vector<size_t> captures;                        // indexes, by the begin of their windows
  bool captures_left_out = false;                      // its origin is in Timeline::left_out_of
  std::vector<TimelineThread> threads;                 // those that explain the request first (thread_order.h)
  std::vector<TimelineSpan> spans;                     // spans without a thread
  uint64_t other_threads = 0;                          // number of threads that are not listed
  std::optional<NoCapture> no_capture = std::nullopt;  // as explain_no_captures() sets it
};

struct Timeline {
  TraceId trace_id;  // zero: of a capture without a trace
  uint64_t begin_unix_nano = 0;
  uint64_t end_unix_nano = 0;
  bool complete = false;
  uint64_t left_out = 0;
  std::vector<TimelineCapture> captures;
  uint64_t captures_left_out = 0;  // captures of other requests; a failed search counts as one
  std::set<Origin> left_out_of;    // processes whose captures of other requests were left out or not searched
  std::vector<TimelineProcess> processes;
  std::vector<SharedSummary> snapshots;  // of the trace
  store::StoredTrace trace;
};

}  // namespace fathom::query

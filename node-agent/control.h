// What a collector requests of an agent, and what an agent sends besides spans: the interfaces between the uplink,
// which speaks the ingest stream, and the rest of the agent.
//
// Purpose: the types are those of ingest/control.h. Thread safety: every call, in both directions, is on the thread
// that runs the agent's loop. Ownership: plain values; a capture's content is shared until it is durable. Errors: none
// are returned. Requests are checked where they are read (ingest/collector_messages.h); an answer reports what could
// not be done.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/capture_trigger.h"
#include "ingest/control.h"
#include "ingest/stream.h"
#include "node-agent/uplink/clock_offset.h"

namespace fathom::agent {

using ingest::CaptureAnswer;
using ingest::CaptureId;
using ingest::CaptureRequest;
using ingest::NodeId;
using ingest::OperationThreshold;
using ingest::ProgramTracepoints;
using ingest::TracepointAction;
using ingest::TracepointAnswer;
using ingest::TracepointRequest;
using ingest::TracepointRule;
using ingest::TracepointState;

// The agent's side, called by the uplink. Requests for other nodes never arrive here.
class ControlHandler {
 public:
  virtual ~ControlHandler() = default;
  virtual void thresholds(ingest::Thresholds thresholds) = 0;
  virtual void capture(CaptureRequest request, std::function<void(CaptureAnswer)> answer) = 0;
  virtual void tracepoints(TracepointRequest request, std::function<void(TracepointAnswer)> answer) = 0;
  // The complete list: it replaces all earlier rules.
  virtual void tracepoint_rules(std::vector<TracepointRule> rules) = 0;
};

struct OutgoingCapture {
  ingest::CaptureBegin begin;                  // without clock and size, which the uplink sets
  std::shared_ptr<const std::string> content;  // capture/encode.h
  LocalInstant made;                           // CaptureOutbox::mark() at that time; it may be sent much later
  bool can_wait = false;                       // behind all captures that cannot
};

enum class CaptureFate {
  kDurable,
  kRefused,   // for good: dropped and counted
  kNoRoom,    // the uplink's memory for captures is full: dropped and counted
  kNotTaken,  // the collector accepts no captures: dropped and counted
};

// The uplink's side. Captures wait in memory (bounded) while the collector is away; they are not spooled.
class CaptureOutbox {
 public:
  virtual ~CaptureOutbox() = default;
  // The current instant. A capture is sent with the clock offset of the instant at which it was made.
  virtual LocalInstant mark() = 0;
  // Calls `done` at most once, later, on the loop: not after destruction, nor for what Uplink::finish() gives up.
  virtual void send(OutgoingCapture capture, std::function<void(CaptureFate)> done) = 0;
  // Dropped while the collector is away: later, other nodes have nothing left to hold. Sent with the clock offset of
  // now.
  virtual void announce(ingest::SlowTrace trace) = 0;
  // Reports traces that are not captured. False: the collector is away, and the caller may try again. Reports are not
  // acknowledged: those in transit when the stream ends are lost.
  virtual bool report_skipped(const ingest::SkippedCaptures& skipped) = 0;
};

}  // namespace fathom::agent

// What a collector asks of an agent, and what an agent sends it beside spans: the seams between the uplink, which
// speaks the stream, and the rest of the agent.
//
// Purpose: the words are ingest/control.h's. Thread safety: every call, in both directions, on the thread that runs the
// agent's loop. Ownership: plain values; a capture's content is shared until it is durable. Errors: none are returned;
// what a collector asks is checked where it is read (ingest/collector_messages.h), and what cannot be done is said in
// the answer.
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

// The agent's half: the uplink calls it. Requests for other nodes never come here.
class ControlHandler {
 public:
  virtual ~ControlHandler() = default;
  virtual void thresholds(ingest::Thresholds thresholds) = 0;
  virtual void capture(CaptureRequest request, std::function<void(CaptureAnswer)> answer) = 0;
  virtual void tracepoints(TracepointRequest request, std::function<void(TracepointAnswer)> answer) = 0;
  // All that there are: those that were said before and are not among them are void.
  virtual void tracepoint_rules(std::vector<TracepointRule> rules) = 0;
};

struct OutgoingCapture {
  ingest::CaptureBegin begin;                  // but for its clock and size, which are the uplink's to say
  std::shared_ptr<const std::string> content;  // capture/encode.h
  LocalInstant made;                           // CaptureOutbox::mark() of then; it may be sent much later
  bool can_wait = false;                       // until those that cannot are sent
};

enum class CaptureFate {
  kDurable,
  kRefused,   // never will be: dropped, and counted
  kNoRoom,    // the uplink holds too much already: dropped, and counted
  kNotTaken,  // this collector takes no captures: dropped, and counted
};

// The uplink's half. Captures wait in memory (bounded) while the collector is away; they are not spooled.
class CaptureOutbox {
 public:
  virtual ~CaptureOutbox() = default;
  // Now. A capture's times are those of this host's clock when it was made, and so is the offset that it is sent with.
  virtual LocalInstant mark() = 0;
  // `done` is called once, later, on the loop; never after the outbox was destroyed.
  virtual void send(OutgoingCapture capture, std::function<void(CaptureFate)> done) = 0;
  // Not kept while the collector is away: by the time that it is back, there is nothing to hold any more.
  virtual void announce(ingest::SlowTrace trace) = 0;
  // Of traces that are not captured. False: the collector is away, and whoever keeps them may try again. Not
  // acknowledged: what is on its way when the stream ends is lost.
  virtual bool report_skipped(const ingest::SkippedCaptures& skipped) = 0;
};

}  // namespace fathom::agent

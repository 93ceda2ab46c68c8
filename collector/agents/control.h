// What this collector asks of agents, and what they answer: the seam between the agents' stream and the parts that have
// something to ask (thresholds, captures, tracepoints).
//
// Purpose: the port through which messages go out, and who hears of the answers; the words are ingest/control.h's.
// Thread safety: NodePort from any thread; NodeAnswers is called from the streams' threads, and must not wait.
// Ownership: plain values. Errors: a node that is not connected is false; what agents say is checked where it is read.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "ingest/control.h"
#include "ingest/stream.h"
#include "store/capture.h"

namespace fathom::collector {

using ingest::CaptureAnswer;
using ingest::CaptureRequest;
using ingest::NodeId;
using ingest::OperationThreshold;
using ingest::ProgramTracepoints;
using ingest::TracepointAction;
using ingest::TracepointAnswer;
using ingest::TracepointRequest;
using ingest::TracepointRule;
using ingest::TracepointState;

struct ConnectedNode {
  NodeId node_id;
  std::string host_name;
  uint64_t stream = 0;       // the registry's number of its stream; a newer one has a higher
  uint64_t period_nano = 0;  // for which the agent ranks requests; 0: unknown, an older agent
  // The agent understands hold_nano. An older agent would send the capture at once instead of holding it.
  bool holds_traces() const { return period_nano > 0; }
};

// To the agents that are connected now and take requests.
class NodePort {
 public:
  virtual ~NodePort() = default;
  virtual std::vector<ConnectedNode> connected() const = 0;
  // False: that node is not connected, or reads too little for too long.
  virtual bool send(const NodeId& node, std::string message) = 0;
};

// Accepts reports of missing captures. Called on any thread; must not block.
using PutSkipped = std::function<void(std::vector<store::SkippedCapture>)>;

// What agents say, and that they come and go.
class NodeAnswers {
 public:
  virtual ~NodeAnswers() = default;
  virtual void node_connected(const NodeId& node) = 0;  // after its Welcome
  virtual void node_gone(const NodeId& node) = 0;
  virtual void answered(const NodeId& node, CaptureAnswer answer) = 0;
  virtual void answered(const NodeId& node, TracepointAnswer answer) = 0;
  // The agent announced a request that may be among the slowest, so other nodes shall hold their parts of its trace.
  virtual void slow_trace(const NodeId& node, ingest::SlowTrace trace) = 0;
  // A capture is announced: other nodes of its trace may have something, too.
  virtual void capture_begins(const NodeId& node, const store::CaptureInfo& info) = 0;
  // Sets the sink for reports of nodes that were not asked. Called before any stream opens. Default: no reports.
  virtual void set_skipped_sink(const PutSkipped& /*put*/) {}
};

}  // namespace fathom::collector

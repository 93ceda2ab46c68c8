// What this collector asks of agents, and what they answer: the seam between the agents' stream and whoever has
// something to ask (thresholds, captures, tracepoints).
//
// Purpose: plain words for the control messages of proto/ingest.proto, and the port through which they go out.
// Thread safety: NodePort from any thread; NodeAnswers is called from the streams' threads, and must not wait.
// Ownership: plain values. Errors: a node that is not connected is false; what agents say is checked where it is read.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "store/capture.h"

namespace fathom::collector {

using NodeId = Id<16>;

struct OperationThreshold {
  std::string service_namespace;
  std::string service;
  std::string operation;
  uint8_t kind = 0;             // OTLP's
  uint64_t threshold_nano = 0;  // 0: none any more
  bool operator==(const OperationThreshold&) const = default;
};

struct CaptureRequest {
  uint64_t request_id = 0;
  CaptureTrigger trigger = CaptureTrigger::kRequested;
  TraceId trace_id;  // zero: not by trace
  uint32_t pid = 0;
  std::string service;
  std::optional<NodeId> node_id;  // with `pid`
  uint64_t start_unix_nano = 0;   // as proto/ingest.proto says
  uint64_t end_unix_nano = 0;
  uint64_t duration_nano = 0;
  std::string reason;
};
struct CaptureAnswer {
  uint64_t request_id = 0;
  std::vector<store::CaptureId> capture_ids;
  std::string skipped;
};

struct TracepointRequest {
  enum class Action : uint8_t { kList, kEnable, kDisable };
  uint64_t request_id = 0;
  Action action = Action::kList;
  std::vector<std::string> patterns;
  uint32_t pid = 0;
  std::string service;
  std::optional<NodeId> node_id;
};
struct TracepointState {
  std::string name;
  std::string file;
  uint32_t line = 0;
  bool on = false;
};
struct ProgramTracepoints {
  uint32_t pid = 0;
  std::string service;
  std::vector<TracepointState> tracepoints;
  bool truncated = false;
};
struct TracepointAnswer {
  uint64_t request_id = 0;
  std::vector<ProgramTracepoints> programs;
  std::string failure;
  bool truncated = false;
};

// What people have said of tracepoints for good, of one node or all.
struct TracepointRule {
  bool enables = false;
  std::string pattern;
  std::string service;            // empty: any
  std::optional<NodeId> node_id;  // none: every
  bool operator==(const TracepointRule&) const = default;
};

// The messages, as bytes (messages.h has the others).
std::string thresholds_message(const std::vector<OperationThreshold>& operations, bool replaces);
// The same, as many messages as it takes for each to be one that agents take; at least one. To be sent in order.
std::vector<std::string> thresholds_messages(const std::vector<OperationThreshold>& operations, bool replaces);
std::string capture_request_message(const CaptureRequest& request);
std::string tracepoint_request_message(const TracepointRequest& request);
std::string tracepoint_rules_message(const std::vector<TracepointRule>& rules);

struct ConnectedNode {
  NodeId node_id;
  std::string host_name;
  uint64_t stream = 0;  // the registry's number of its stream; a newer one has a higher
};

// To the agents that are connected now and take requests.
class NodePort {
 public:
  virtual ~NodePort() = default;
  virtual std::vector<ConnectedNode> connected() const = 0;
  // False: that node is not connected, or reads too little for too long.
  virtual bool send(const NodeId& node, std::string message) = 0;
};

// What agents say, and that they come and go.
class NodeAnswers {
 public:
  virtual ~NodeAnswers() = default;
  virtual void node_connected(const NodeId& node) = 0;  // after its Welcome
  virtual void node_gone(const NodeId& node) = 0;
  virtual void answered(const NodeId& node, CaptureAnswer answer) = 0;
  virtual void answered(const NodeId& node, TracepointAnswer answer) = 0;
  // A capture is announced: other nodes of its trace may have something, too.
  virtual void capture_begins(const NodeId& node, const store::CaptureInfo& info) = 0;
};

}  // namespace fathom::collector

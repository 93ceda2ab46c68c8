// ControlLoop: what the server says to agents and makes of their answers, as one thread's plain work.
//
// Purpose: the rules, apart from threads and clocks, so that tests can walk through them:
//  - a node that connects is told all thresholds; every five seconds all are told what changed, and whoever missed
//    something, or has a new stream, is told all again;
//  - a request goes to all connected nodes, or to the one that it names, and is over when each has answered or gone
//  (also
//    when it has come back: agents answer over the stream that they were asked by), or five seconds after the end of
//    its window;
//  - what a request switches of all processes is a rule (tracepoint_rules.h): durable before any node hears of it, and
//    told, all rules together, to every node that connects, or does not know the latest;
//  - the first capture of a trace makes the server ask every other node for the trace (remote_triggers.h), for the same
//    window; later captures that cover more time, for the union. If a user asked all nodes for a trace, they are not
//    asked again. A request that a limit prevents is reported (refused_reports.h);
//  - a trace that may be among the slowest is held by every other node that can hold traces (hold_limits.h);
//  - requests whose root span comes from an OpenTelemetry SDK are ranked here (slow_roots.h): all nodes are told to
//    hold, and later asked for, the slowest.
// Thread safety: one thread. Ownership: port and learner outlive it. Errors, to `done`: kNotFound (the node named is
// not connected), kUnavailable (no node is; too many requests wait already). A request that became a rule has neither:
// its answer says of which nodes nothing is known. Losses: fathom_remote_captures_skipped_total,
// fathom_node_requests_unanswered_total{kind,reason}.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "collector/agents/control.h"
#include "collector/control/control_metrics.h"
#include "collector/control/hold_limits.h"
#include "collector/control/pending_requests.h"
#include "collector/control/refused_reports.h"
#include "collector/control/remote_triggers.h"
#include "collector/control/slow_roots.h"
#include "collector/control/threshold_learner.h"
#include "collector/control/tracepoint_rules.h"

namespace fathom::collector {

struct ControlOptions {
  uint64_t answer_nano = 5 * kNanosPerSecond;       // that nodes have, from the end of a request's window on
  uint64_t most_ahead_nano = 60 * kNanosPerSecond;  // of a window
  uint64_t thresholds_every_nano = 5 * kNanosPerSecond;
  PendingLimits captures;                    // requests of people that wait for nodes
  PendingLimits tracepoints{.requests = 8};  // their answers are large: some ten megabytes to a request at most
  RemoteTriggerOptions remote;
  RemoteTriggerOptions holds{.traces_per_s = 50, .burst = 200};
  NodeHoldOptions holds_of_node;
  std::shared_ptr<SlowRoots> slow_roots;             // null: root spans are not ranked
  uint64_t slow_roots_every_nano = kNanosPerSecond;  // recorders hold some 20 s
  std::string rules_directory;                       // where the rules of tracepoints are kept; empty: in memory only
  std::function<uint64_t()> now_monotonic_nano = fathom::now_monotonic_nano;
  std::function<uint64_t()> now_unix_nano = fathom::now_unix_nano;
};

template <typename Answer>
struct Replies {
  uint64_t request_id = 0;
  std::vector<NodeReply<Answer>> nodes;
};
template <typename Answer>
using RepliesDone = std::function<void(Result<Replies<Answer>>)>;

class ControlLoop {
 public:
  ControlLoop(const ControlOptions& options, NodePort& port, ThresholdLearner& learner);

  void node_connected(const NodeId& node);
  void node_gone(const NodeId& node);
  void answered(const NodeId& node, CaptureAnswer answer);
  void answered(const NodeId& node, TracepointAnswer answer);
  void slow_trace(const NodeId& node, const ingest::SlowTrace& trace);
  void capture_begins(const NodeId& node, const store::CaptureInfo& info);
  void set_skipped_sink(PutSkipped put) { refused_.set_sink(std::move(put)); }

  // The request's id is given here.
  void capture(CaptureRequest request, RepliesDone<CaptureAnswer> done);
  // What becomes a rule may be asked for while no node is there.
  void tracepoints(TracepointRequest request, RepliesDone<TracepointAnswer> done);
  const std::vector<TracepointRule>& tracepoint_rules() const { return rules_.all(); }

  // Does what is due; returns when to call again at the latest, in monotonic nanoseconds.
  uint64_t run_due();
  // Answers all who still wait.
  void end(const std::string& why);

 private:
  struct Question {
    uint64_t request_id = 0;
    std::optional<NodeId> node;
    std::string message;
    uint64_t deadline_nano = 0;
  };

  // To how many nodes it went.
  template <typename Answer>
  size_t ask(PendingRequests<Answer>& pending, RequestMetrics& metrics, const Question& question,
             RepliesDone<Answer> done);
  Result<std::vector<ConnectedNode>> addressees(const std::optional<NodeId>& node) const;
  uint64_t stream_of(const NodeId& node) const;
  uint64_t window_left_nano(const CaptureRequest& request) const;
  using RequestOf = std::function<CaptureRequest(const RemoteTriggers::Window&)>;
  // `announcer`: of the trace; its rate limits it. Zero: the collector.
  void hold(const std::vector<ConnectedNode>& nodes, const NodeId& announcer, CaptureRequest request);
  void refuse_hold(const TraceId& trace, uint64_t now_nano);
  void send_remote(const std::vector<ConnectedNode>& nodes, CaptureRequest request, Counter& sent);
  void ask_others(const NodeId& first, const store::CaptureInfo& info);
  // `info`: the capture, or root span, because of which the trace is wanted.
  void ask_for_trace(const std::vector<ConnectedNode>& nodes, const store::CaptureInfo& info,
                     const RequestOf& request_of);
  void follow_slow_roots();
  std::vector<ConnectedNode> others(const NodeId& first, std::string& host_name) const;

  Result<> keep_rules(const TracepointRequest& request);
  Replies<TracepointAnswer> unasked(const TracepointRequest& request) const;
  void spread_rules();
  void spread_thresholds(uint64_t now_nano);
  void tell_all_thresholds(const ConnectedNode& node);
  bool send_each(const NodeId& node, const std::vector<std::string>& messages);

  const ControlOptions options_;
  ControlMetrics& metrics_ = ControlMetrics::get();  // all of them, at 0 before anything happens
  NodePort& port_;
  ThresholdLearner& learner_;
  PendingRequests<CaptureAnswer> captures_;
  PendingRequests<TracepointAnswer> tracepoints_;
  RemoteTriggers remote_;
  HoldLimits holds_;
  RefusedReports refused_;
  TracepointRules rules_;
  uint64_t rules_version_ = 0;
  uint64_t next_request_ = 1;
  uint64_t thresholds_due_nano_ = 0;
  uint64_t slow_roots_due_nano_;     // never, if there are none
  std::map<NodeId, uint64_t> told_;  // nodes that know all thresholds, and over which stream they were told
  std::map<NodeId, std::pair<uint64_t, uint64_t>>
      told_rules_;                         // by nodes: over which stream they were told which version
  std::vector<std::string> all_messages_;  // all thresholds; empty: to be made again
};

}  // namespace fathom::collector

#include "collector/control/control_loop.h"

#include <algorithm>
#include <utility>

#include "base/capture_trigger.h"
#include "base/log.h"
#include "collector/control/rules_file.h"
#include "ingest/collector_messages.h"

namespace fathom::collector {

namespace {

constexpr const char* kUnasked =
    "it is told the rule, which is kept, but not asked what came of it: too many requests wait for nodes";
constexpr const char* kUnsent = "the node has gone, or does not read what it is asked";

const ConnectedNode* find_node(const std::vector<ConnectedNode>& nodes, const NodeId& id) {
  auto found = std::find_if(nodes.begin(), nodes.end(), [&](const ConnectedNode& node) { return node.node_id == id; });
  return found == nodes.end() ? nullptr : &*found;
}

CaptureRequest hold_request(const std::string& host_name, const ingest::SlowTrace& trace) {
  CaptureRequest request;
  request.trigger = CaptureTrigger::kRemote;
  request.trace_id = trace.trace_id;
  request.reason = "among the slowest on " + host_name + ": " + trace.operation;
  request.hold_nano = trace.hold_nano;
  request.start_unix_nano = corrected_unix_nano(trace.start_unix_nano, trace.clock);
  request.end_unix_nano = corrected_unix_nano(trace.end_unix_nano, trace.clock);
  return request;
}

std::string reason_of(const SlowRoot& root) {
  return "among the slowest of " + root.service + ": " + root.operation;
}

// Without a window, because the clock of the root span's host is not known: nodes capture the time of their own spans.
CaptureRequest request_for(const SlowRoot& root) {
  CaptureRequest request;
  request.trigger = CaptureTrigger::kRemote;
  request.trace_id = root.trace_id;
  request.reason = reason_of(root);
  return request;
}

CaptureRequest hold_request(const SlowRoot& root) {
  CaptureRequest request = request_for(root);
  request.hold_nano = root.hold_nano;
  return request;
}

// As if the root span's node had begun to send its capture.
store::CaptureInfo info_of(const SlowRoot& root) {
  store::CaptureInfo info;
  info.trigger = CaptureTrigger::kSlow;
  info.trace_id = root.trace_id;
  info.operation = root.operation;
  info.start_unix_nano = root.start_unix_nano;
  info.end_unix_nano = root.end_unix_nano;
  return info;
}

// 0: there are no nodes.
uint64_t shortest_period_nano(const std::vector<ConnectedNode>& nodes) {
  auto shortest = std::ranges::min_element(nodes, {}, &ConnectedNode::period_nano);
  return shortest == nodes.end() ? 0 : std::max(shortest->period_nano, kNanosPerSecond);
}

std::string reason_for_others(const std::string& host_name, const store::CaptureInfo& info) {
  std::string operation = info.operation.empty() ? "" : " (" + info.operation + ")";
  return "captured on " + host_name + ": " + std::string(name_of(info.trigger)) + operation;
}

CaptureRequest request_for_others(const std::string& host_name, const store::CaptureInfo& info,
                                  const RemoteTriggers::Window& window) {
  CaptureRequest request;
  request.trigger = CaptureTrigger::kRemote;
  request.trace_id = info.trace_id;
  request.start_unix_nano = window.start_unix_nano;
  request.end_unix_nano = window.end_unix_nano;
  request.reason = reason_for_others(host_name, info);
  return request;
}

std::vector<ConnectedNode> those_that_hold(std::vector<ConnectedNode> nodes) {
  std::erase_if(nodes, [](const ConnectedNode& node) { return !node.holds_traces(); });
  return nodes;
}

// What cannot be read would be overwritten by the next rule, and may be of use to a person.
TracepointRules kept_rules(const std::string& directory) {
  if (directory.empty()) return {};
  Result<TracepointRules> rules = read_rules(directory);
  if (rules) return *std::move(rules);
  Result<std::string> kept = set_rules_aside(directory);
  log_error("what was switched of tracepoints is forgotten: " + rules.error().message + "; " +
            (kept ? "the file is kept as " + *kept : kept.error().message));
  return {};
}

}  // namespace

ControlLoop::ControlLoop(const ControlOptions& options, NodePort& port, ThresholdLearner& learner)
    : options_(options),
      port_(port),
      learner_(learner),
      captures_(options.captures),
      tracepoints_(options.tracepoints),
      remote_(options.remote),
      holds_(options.holds, options.holds_of_node),
      rules_(kept_rules(options.rules_directory)),
      slow_roots_due_nano_(options.slow_roots ? 0 : UINT64_MAX) {}

// ---- requests ----------------------------------------------------------------------------------------------------

Result<std::vector<ConnectedNode>> ControlLoop::addressees(const std::optional<NodeId>& node) const {
  std::vector<ConnectedNode> nodes = port_.connected();
  if (!node) {
    if (nodes.empty()) return unavailable("no node is connected that takes requests; 'fathom nodes' lists them");
    return nodes;
  }
  const ConnectedNode* found = find_node(nodes, *node);
  if (found == nullptr) return not_found("node " + node->hex() + " is not connected, or takes no requests");
  return std::vector{*found};
}

template <typename Answer>
size_t ControlLoop::ask(PendingRequests<Answer>& pending, RequestMetrics& metrics, const Question& question,
                        RepliesDone<Answer> done) {
  if (pending.is_full()) {
    return done(unavailable("too many requests wait for nodes; try again")), 0;
  }
  Result<std::vector<ConnectedNode>> nodes = addressees(question.node);
  if (!nodes) return done(nodes.error()), 0;
  size_t asked = 0;
  std::vector<NodeReply<Answer>> replies;
  for (ConnectedNode& node : *nodes) {
    bool sent = port_.send(node.node_id, question.message);
    (sent ? metrics.sent : metrics.unsent).add();
    asked += sent ? 1 : 0;
    replies.push_back({std::move(node), std::nullopt, sent ? "" : kUnsent});
  }
  pending.add(question.request_id, question.deadline_nano, std::move(replies),
              [id = question.request_id, done = std::move(done)](std::vector<NodeReply<Answer>> all) {
                done(Replies<Answer>{id, std::move(all)});
              });
  return asked;
}

uint64_t ControlLoop::window_left_nano(const CaptureRequest& request) const {
  uint64_t now = options_.now_unix_nano();
  return request.end_unix_nano <= now ? 0 : std::min(request.end_unix_nano - now, options_.most_ahead_nano);
}

void ControlLoop::capture(CaptureRequest request, RepliesDone<CaptureAnswer> done) {
  request.request_id = next_request_++;
  uint64_t now = options_.now_monotonic_nano();
  Question question{request.request_id, request.node_id, encode(request),
                    now + window_left_nano(request) + options_.answer_nano};
  size_t asked = ask(captures_, metrics_.captures, question, std::move(done));
  // With a trace every node is asked, so nobody need be asked again when the first capture begins.
  if (asked > 0 && !request.trace_id.is_zero() && !request.node_id) remote_.asked(request.trace_id, now);
}

void ControlLoop::tracepoints(TracepointRequest request, RepliesDone<TracepointAnswer> done) {
  request.request_id = next_request_++;
  if (TracepointRules::are_made_by(request)) {
    Result<> kept = keep_rules(request);
    if (!kept) return done(kept.error());
    if (tracepoints_.is_full() || !addressees(request.node_id)) return done(unasked(request));
  }
  Question question{request.request_id, request.node_id, encode(request),
                    options_.now_monotonic_nano() + options_.answer_nano};
  ask(tracepoints_, metrics_.tracepoints, question, std::move(done));
}

// The rule is kept, and all are told: it must not be said that nothing came of it.
Replies<TracepointAnswer> ControlLoop::unasked(const TracepointRequest& request) const {
  Replies<TracepointAnswer> replies{request.request_id, {}};
  Result<std::vector<ConnectedNode>> nodes = addressees(request.node_id);
  if (!nodes) return replies;
  for (ConnectedNode& node : *nodes) replies.nodes.push_back({std::move(node), std::nullopt, kUnasked});
  return replies;
}

// Of a node that is not there, nothing: its name may be wrong.
Result<> ControlLoop::keep_rules(const TracepointRequest& request) {
  if (request.node_id) {
    Result<std::vector<ConnectedNode>> named = addressees(request.node_id);
    if (!named) return named.error();
  }
  TracepointRules more = rules_;
  Result<> kept = more.add(request);
  if (kept && !options_.rules_directory.empty()) kept = write_rules(options_.rules_directory, more);
  if (!kept) return kept;
  rules_ = std::move(more);
  ++rules_version_;
  spread_rules();
  return {};
}

void ControlLoop::answered(const NodeId& node, CaptureAnswer answer) {
  captures_.answered(node, std::move(answer));
}

void ControlLoop::answered(const NodeId& node, TracepointAnswer answer) {
  tracepoints_.answered(node, std::move(answer));
}

void ControlLoop::end(const std::string& why) {
  captures_.end_all(why);
  tracepoints_.end_all(why);
}

// ---- captures that make others be asked ----------------------------------------------------------------------------

void ControlLoop::capture_begins(const NodeId& node, const store::CaptureInfo& info) {
  if (info.trace_id.is_zero() || info.trigger == CaptureTrigger::kRemote) return;
  ask_others(node, info);
}

// All connected nodes except `first`, whose host name is returned in `host_name`.
std::vector<ConnectedNode> ControlLoop::others(const NodeId& first, std::string& host_name) const {
  std::vector<ConnectedNode> nodes = port_.connected();
  const ConnectedNode* known = find_node(nodes, first);
  host_name = known == nullptr ? first.hex() : known->host_name;
  std::erase_if(nodes, [&](const ConnectedNode& node) { return node.node_id == first; });
  return nodes;
}

void ControlLoop::slow_trace(const NodeId& node, const ingest::SlowTrace& trace) {
  std::string host_name;
  const std::vector<ConnectedNode> nodes = those_that_hold(others(node, host_name));
  if (nodes.empty() || trace.hold_nano == 0) return;
  hold(nodes, node, hold_request(host_name, trace));
}

void ControlLoop::hold(const std::vector<ConnectedNode>& nodes, const NodeId& announcer, CaptureRequest request) {
  const uint64_t now = options_.now_monotonic_nano();
  const RemoteTriggers::Verdict verdict = holds_.announced(announcer, request.trace_id, now);
  if (verdict == RemoteTriggers::Verdict::kTooMany) return refuse_hold(request.trace_id, now);
  if (verdict != RemoteTriggers::Verdict::kAsk) return;
  (void)refused_.take_hold(request.trace_id, now);  // forget an earlier refusal
  send_remote(nodes, std::move(request), metrics_.holds_sent);
}

void ControlLoop::send_remote(const std::vector<ConnectedNode>& nodes, CaptureRequest request, Counter& sent) {
  request.request_id = next_request_++;
  const std::string message = encode(request);
  for (const ConnectedNode& node : nodes) {
    if (port_.send(node.node_id, message)) sent.add();
  }
}

void ControlLoop::refuse_hold(const TraceId& trace, uint64_t now_nano) {
  metrics_.holds_skipped.add();
  refused_.hold_refused(trace, now_nano);
}

// Also asks nodes that were not told to hold the trace, because their recorders may still have it.
void ControlLoop::ask_others(const NodeId& first, const store::CaptureInfo& info) {
  std::string host_name;
  const std::vector<ConnectedNode> nodes = others(first, host_name);
  if (nodes.empty()) return;
  ask_for_trace(nodes, info,
                [&](const RemoteTriggers::Window& window) { return request_for_others(host_name, info, window); });
}

void ControlLoop::ask_for_trace(const std::vector<ConnectedNode>& nodes, const store::CaptureInfo& info,
                                const RequestOf& request_of) {
  const uint64_t now = options_.now_monotonic_nano();
  RemoteTriggers::Window window{info.start_unix_nano, info.end_unix_nano};
  const RemoteTriggers::Verdict verdict = remote_.captured(info.trace_id, info.trigger, window, now);
  const bool is_refused = verdict == RemoteTriggers::Verdict::kTooMany;
  if (is_refused) metrics_.remote_skipped.add();
  const bool was_hold_refused = refused_.take_hold(info.trace_id, now);
  if (is_refused || was_hold_refused)
    refused_.report(info, is_refused ? nodes : those_that_hold(nodes), now, options_.now_unix_nano());
  if (verdict != RemoteTriggers::Verdict::kAsk) return;
  metrics_.remote.add();
  send_remote(nodes, request_of(window), metrics_.remote_sent);
}

// ---- requests whose root span no agent has -------------------------------------------------------------------------

void ControlLoop::follow_slow_roots() {
  const std::vector<ConnectedNode> nodes = those_that_hold(port_.connected());
  const SlowRoots::Due due = options_.slow_roots->step(options_.now_unix_nano(), shortest_period_nano(nodes));
  if (nodes.empty()) return;
  for (const SlowRoot& root : due.hold) hold(nodes, {}, hold_request(root));
  for (const SlowRoot& root : due.capture)
    ask_for_trace(nodes, info_of(root), [&](const RemoteTriggers::Window&) { return request_for(root); });
}

// ---- nodes, thresholds, time ---------------------------------------------------------------------------------------

// 0: it is not connected.
uint64_t ControlLoop::stream_of(const NodeId& node) const {
  std::vector<ConnectedNode> nodes = port_.connected();
  const ConnectedNode* found = find_node(nodes, node);
  return found == nullptr ? 0 : found->stream;
}

void ControlLoop::node_connected(const NodeId& node) {
  std::vector<ConnectedNode> nodes = port_.connected();
  if (const ConnectedNode* found = find_node(nodes, node)) tell_all_thresholds(*found);
  spread_rules();
}

// A node that is back already, over a newer stream, does not answer what it was asked over an older one.
void ControlLoop::node_gone(const NodeId& node) {
  const uint64_t newer_stream = stream_of(node);
  metrics_.captures.gone.add(captures_.gone(node, newer_stream));
  metrics_.tracepoints.gone.add(tracepoints_.gone(node, newer_stream));
}

bool ControlLoop::send_each(const NodeId& node, const std::vector<std::string>& messages) {
  return std::all_of(messages.begin(), messages.end(),
                     [&](const std::string& message) { return port_.send(node, message); });
}

void ControlLoop::tell_all_thresholds(const ConnectedNode& node) {
  told_.erase(node.node_id);
  if (all_messages_.empty()) all_messages_ = encode_in_parts(ingest::Thresholds{true, learner_.all()});
  if (send_each(node.node_id, all_messages_)) told_[node.node_id] = node.stream;
}

// Looks at streams, not at who was said to come and go: that may have been missed.
void ControlLoop::spread_thresholds(uint64_t now_nano) {
  std::vector<OperationThreshold> changes = learner_.changes(now_nano);
  std::vector<std::string> messages;
  if (!changes.empty()) {
    messages = encode_in_parts(ingest::Thresholds{false, changes});
    all_messages_.clear();
  }
  const std::map<NodeId, uint64_t> told = std::exchange(told_, {});
  for (const ConnectedNode& node : port_.connected()) {
    auto found = told.find(node.node_id);
    bool knows_all = found != told.end() && found->second == node.stream;
    if (!knows_all) {
      tell_all_thresholds(node);
    } else if (send_each(node.node_id, messages)) {
      told_.insert(*found);
    }
  }
}

// As with thresholds: to whoever does not know the latest over the stream that it has now.
void ControlLoop::spread_rules() {
  const auto told = std::exchange(told_rules_, {});
  for (const ConnectedNode& node : port_.connected()) {
    const std::pair<uint64_t, uint64_t> latest{node.stream, rules_version_};
    auto found = told.find(node.node_id);
    bool knows = found != told.end() && found->second == latest;
    if (knows || port_.send(node.node_id, encode(rules_.of(node.node_id)))) {
      told_rules_.emplace(node.node_id, latest);
    }
  }
}

uint64_t ControlLoop::run_due() {
  uint64_t now = options_.now_monotonic_nano();
  metrics_.captures.late.add(captures_.expire(now));
  metrics_.tracepoints.late.add(tracepoints_.expire(now));
  if (now >= thresholds_due_nano_) {
    spread_thresholds(now);
    spread_rules();
    thresholds_due_nano_ = now + options_.thresholds_every_nano;
  }
  if (now >= slow_roots_due_nano_) {
    follow_slow_roots();
    slow_roots_due_nano_ = now + options_.slow_roots_every_nano;
  }
  return std::min(
      {thresholds_due_nano_, slow_roots_due_nano_, captures_.next_deadline_nano(), tracepoints_.next_deadline_nano()});
}

}  // namespace fathom::collector

#include "apps/server/node_control.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "base/time.h"

namespace fathom {

namespace {

constexpr size_t kLeastDigits = 4;
constexpr size_t kMostTracepoints = 100'000;

using collector::CaptureAnswer;
using collector::NodeReply;
using collector::TracepointAnswer;

bool is_named(const collector::ConnectedNode& node, std::string_view text) {
  return node.host_name == text || (text.size() >= kLeastDigits && node.node_id.hex().starts_with(text));
}

collector::CaptureRequest request_of(const query::CaptureAsk& ask, std::optional<collector::NodeId> node) {
  collector::CaptureRequest request;
  request.trace_id = ask.trace_id;
  request.pid = ask.pid;
  request.service = ask.service;
  request.node_id = node;
  request.reason = ask.reason;
  request.duration_nano = ask.duration_nano;
  uint64_t now = now_unix_nano();
  if (ask.ahead) {
    request.start_unix_nano = now;
    request.end_unix_nano = now + ask.duration_nano;
  } else if (!ask.trace_id.is_zero() && ask.duration_nano > 0) {  // else agents take what its spans last
    request.start_unix_nano = now - ask.duration_nano;
    request.end_unix_nano = now;
  }
  return request;
}

collector::TracepointRequest request_of(const query::TracepointAsk& ask, std::optional<collector::NodeId> node) {
  using Action = collector::TracepointRequest::Action;
  collector::TracepointRequest request;
  request.action = ask.action == query::TracepointAction::kEnable    ? Action::kEnable
                   : ask.action == query::TracepointAction::kDisable ? Action::kDisable
                                                                     : Action::kList;
  request.patterns = ask.patterns;
  request.pid = ask.pid;
  request.service = ask.service;
  request.node_id = node;
  return request;
}

query::NodeCaptures captures_of(const NodeReply<CaptureAnswer>& reply) {
  query::NodeCaptures node{reply.node.node_id.hex(), reply.node.host_name, {}, "", reply.failure};
  if (!reply.answer) return node;
  for (const store::CaptureId& id : reply.answer->capture_ids) node.captures.push_back(id.hex());
  node.skipped = reply.answer->skipped;
  return node;
}

query::CaptureReplies replies_of(const collector::Replies<CaptureAnswer>& replies) {
  query::CaptureReplies out{replies.request_id, {}};
  for (const auto& reply : replies.nodes) out.nodes.push_back(captures_of(reply));
  return out;
}

query::ProgramRow program_of(const collector::ProgramTracepoints& program, size_t& room) {
  query::ProgramRow row{program.pid, program.service, {}, program.truncated};
  for (const collector::TracepointState& state : program.tracepoints) {
    if (room == 0) break;
    --room;
    row.tracepoints.push_back({state.name, state.file, state.line, state.on});
  }
  row.truncated |= row.tracepoints.size() < program.tracepoints.size();
  return row;
}

query::NodeTracepoints tracepoints_of(const NodeReply<TracepointAnswer>& reply, size_t& room) {
  query::NodeTracepoints node{reply.node.node_id.hex(), reply.node.host_name, {}, false, reply.failure};
  if (!reply.answer) return node;
  node.failure = reply.answer->failure;
  node.truncated = reply.answer->truncated;
  for (const auto& program : reply.answer->programs) node.programs.push_back(program_of(program, room));
  return node;
}

query::TracepointReplies replies_of(const collector::Replies<TracepointAnswer>& replies) {
  query::TracepointReplies out{replies.request_id, {}};
  size_t room = kMostTracepoints;
  for (const auto& reply : replies.nodes) out.nodes.push_back(tracepoints_of(reply, room));
  return out;
}

query::TracepointRuleRows rows_of(const std::vector<collector::TracepointRule>& rules) {
  query::TracepointRuleRows rows;
  for (const collector::TracepointRule& rule : rules) {
    rows.rules.push_back({rule.enables, rule.pattern, rule.service, rule.node_id ? rule.node_id->hex() : ""});
  }
  return rows;
}

template <typename Answer, typename Done>
collector::RepliesDone<Answer> translated(Done done) {
  return [done = std::move(done)](const Result<collector::Replies<Answer>>& replies) {
    if (!replies) return done(replies.error());
    done(replies_of(*replies));
  };
}

class NodeControl : public query::Control {
 public:
  NodeControl(std::shared_ptr<collector::ControlRouter> router, std::shared_ptr<const collector::NodePort> nodes)
      : router_(std::move(router)), nodes_(std::move(nodes)) {}

  void capture(query::CaptureAsk ask, Done<query::CaptureReplies> done) override {
    Result<std::optional<collector::NodeId>> node = named_node(ask.node);
    if (!node) return done(node.error());
    router_->capture(request_of(ask, *node), translated<CaptureAnswer>(std::move(done)));
  }
  void tracepoints(query::TracepointAsk ask, Done<query::TracepointReplies> done) override {
    Result<std::optional<collector::NodeId>> node = named_node(ask.node);
    if (!node) return done(node.error());
    router_->tracepoints(request_of(ask, *node), translated<TracepointAnswer>(std::move(done)));
  }
  void tracepoint_rules(Done<query::TracepointRuleRows> done) override {
    router_->tracepoint_rules([done = std::move(done)](const Result<std::vector<collector::TracepointRule>>& rules) {
      if (!rules) return done(rules.error());
      done(rows_of(*rules));
    });
  }

 private:
  Result<std::optional<collector::NodeId>> named_node(const std::string& text) const {
    if (text.empty()) return std::optional<collector::NodeId>();
    Result<collector::NodeId> node = find_node(nodes_->connected(), text);
    if (!node) return node.error();
    return std::optional(*node);
  }

  const std::shared_ptr<collector::ControlRouter> router_;
  const std::shared_ptr<const collector::NodePort> nodes_;
};

}  // namespace

std::shared_ptr<query::Control> make_node_control(std::shared_ptr<collector::ControlRouter> router,
                                                  std::shared_ptr<const collector::NodePort> nodes) {
  return std::make_shared<NodeControl>(std::move(router), std::move(nodes));
}

Result<collector::NodeId> find_node(const std::vector<collector::ConnectedNode>& nodes, std::string_view text) {
  auto fits = [&](const collector::ConnectedNode& node) { return is_named(node, text); };
  auto found = std::find_if(nodes.begin(), nodes.end(), fits);
  if (found == nodes.end()) {
    return not_found("no node '" + std::string(text) + "' is connected that takes requests; 'fathom nodes' lists them");
  }
  if (std::count_if(nodes.begin(), nodes.end(), fits) > 1) {
    return invalid("several nodes are called '" + std::string(text) + "'; name one by more digits of its id");
  }
  return found->node_id;
}

}  // namespace fathom

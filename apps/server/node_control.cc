#include "apps/server/node_control.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "base/time.h"

namespace fathom {

namespace {

constexpr size_t kLeastDigits = 4;

using collector::NodeReply;

bool is_named(const collector::ConnectedNode& node, std::string_view text) {
  return node.host_name == text || (text.size() >= kLeastDigits && node.node_id.hex().starts_with(text));
}

collector::CaptureRequest request_of(query::CaptureAsk ask, std::optional<collector::NodeId> node) {
  collector::CaptureRequest request = std::move(ask.request);
  request.node_id = node;
  const uint64_t now = now_unix_nano();
  if (ask.ahead) {
    request.start_unix_nano = now;
    request.end_unix_nano = now + request.duration_nano;
  } else if (!request.trace_id.is_zero() && request.duration_nano > 0) {  // else agents take what its spans last
    request.start_unix_nano = now - request.duration_nano;
    request.end_unix_nano = now;
  }
  return request;
}

collector::TracepointRequest request_of(query::TracepointAsk ask, std::optional<collector::NodeId> node) {
  ask.request.node_id = node;
  return std::move(ask.request);
}

template <typename Answer>
query::Replies<Answer> replies_of(collector::Replies<Answer> replies) {
  query::Replies<Answer> out{replies.request_id, {}};
  for (NodeReply<Answer>& reply : replies.nodes) {
    out.nodes.push_back({reply.node.node_id, reply.node.host_name, std::move(reply.answer), std::move(reply.failure)});
  }
  return out;
}

template <typename Answer>
collector::RepliesDone<Answer> translated(query::Control::Done<query::Replies<Answer>> done) {
  return [done = std::move(done)](Result<collector::Replies<Answer>> replies) {
    if (!replies) return done(replies.error());
    done(replies_of(*std::move(replies)));
  };
}

class NodeControl : public query::Control {
 public:
  NodeControl(std::shared_ptr<collector::ControlRouter> router, std::shared_ptr<const collector::NodePort> nodes)
      : router_(std::move(router)), nodes_(std::move(nodes)) {}

  void capture(query::CaptureAsk ask, Done<query::CaptureReplies> done) override {
    Result<std::optional<collector::NodeId>> node = named_node(ask.node);
    if (!node) return done(node.error());
    router_->capture(request_of(std::move(ask), *node), translated(std::move(done)));
  }
  void tracepoints(query::TracepointAsk ask, Done<query::TracepointReplies> done) override {
    Result<std::optional<collector::NodeId>> node = named_node(ask.node);
    if (!node) return done(node.error());
    router_->tracepoints(request_of(std::move(ask), *node), translated(std::move(done)));
  }
  void tracepoint_rules(Done<query::TracepointRules> done) override { router_->tracepoint_rules(done); }

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

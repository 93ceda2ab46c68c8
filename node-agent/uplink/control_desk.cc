#include "node-agent/uplink/control_desk.h"

#include <optional>
#include <utility>
#include <variant>

#include "base/log.h"
#include "base/metrics.h"
#include "ingest/agent_messages.h"

namespace fathom::agent {

namespace {

Counter& passed_over_thresholds() {
  static Counter& counted = counter("fathom_agent_passed_over_thresholds_total",
                                    "Thresholds beyond those that an agent takes of one message of the collector");
  return counted;
}

struct Desk {
  const NodeId& node_id;
  ControlHandler& handler;
  std::function<void(std::string)> answer;

  void operator()(ingest::SaidThresholds& said) {
    passed_over_thresholds().add(said.passed_over);
    handler.thresholds(std::move(said.thresholds));
  }
  void operator()(ingest::Asked<CaptureRequest>& asked) {
    if (std::string why = why_not(asked); !why.empty()) {
      return answer(encode(CaptureAnswer{.request_id = asked.request.request_id, .skipped = std::move(why)}));
    }
    handler.capture(std::move(asked.request), [to = answer](const CaptureAnswer& made) { to(encode(made)); });
  }
  void operator()(ingest::Asked<TracepointRequest>& asked) {
    if (std::string why = why_not(asked); !why.empty()) {
      return answer(encode(TracepointAnswer{.request_id = asked.request.request_id, .failure = std::move(why)}));
    }
    handler.tracepoints(std::move(asked.request), [to = answer](const TracepointAnswer& made) { to(encode(made)); });
  }
  void operator()(ingest::Asked<std::vector<TracepointRule>>& asked) {
    if (asked.fault.empty()) return handler.tracepoint_rules(std::move(asked.request));
    log_warning(asked.fault + "; none of them is obeyed");
  }
  void operator()(ingest::Asked<ingest::RedactionRules>&) {}  // the courier's

 private:
  template <typename Request>
  std::string why_not(const ingest::Asked<Request>& asked) const {
    if (!asked.fault.empty()) return asked.fault;
    const std::optional<NodeId>& addressee = asked.request.node_id;
    return !addressee || *addressee == node_id ? "" : "the request is for another node";
  }
};

}  // namespace

void hand_over(LinkControl asked, const NodeId& node_id, ControlHandler& handler,
               std::function<void(std::string)> answer) {
  std::visit(Desk{node_id, handler, std::move(answer)}, asked);
}

}  // namespace fathom::agent

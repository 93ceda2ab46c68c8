#include "node-agent/uplink/control_desk.h"

#include <utility>
#include <variant>

#include "node-agent/uplink/control_messages.h"

namespace fathom::agent {

namespace {

struct Desk {
  const std::array<uint8_t, 16>& node_id;
  ControlHandler& handler;
  std::function<void(std::string)> answer;

  void operator()(AskedThresholds& asked) { handler.thresholds(std::move(asked.operations), asked.replaces); }
  void operator()(AskedCapture& asked) {
    if (std::string why = why_not(asked); !why.empty()) {
      return answer(capture_answer_message({.request_id = asked.request.request_id, .skipped = std::move(why)}));
    }
    handler.capture(std::move(asked.request),
                    [to = answer](const CaptureAnswer& made) { to(capture_answer_message(made)); });
  }
  void operator()(AskedTracepoints& asked) {
    if (std::string why = why_not(asked); !why.empty()) {
      return answer(tracepoint_answer_message({.request_id = asked.request.request_id, .failure = std::move(why)}));
    }
    handler.tracepoints(std::move(asked.request),
                        [to = answer](const TracepointAnswer& made) { to(tracepoint_answer_message(made)); });
  }
  void operator()(AskedRules& asked) { handler.tracepoint_rules(std::move(asked.rules)); }

 private:
  template <typename Asked>
  std::string why_not(const Asked& asked) const {
    if (!asked.fault.empty()) return asked.fault;
    bool any = asked.node_id == std::array<uint8_t, 16>{};
    return any || asked.node_id == node_id ? "" : "the request is for another node";
  }
};

}  // namespace

void hand_over(LinkControl asked, const std::array<uint8_t, 16>& node_id, ControlHandler& handler,
               std::function<void(std::string)> answer) {
  std::visit(Desk{node_id, handler, std::move(answer)}, asked);
}

}  // namespace fathom::agent

// The part of the Courier that is not about spans: captures, and the collector's requests.
#include <string>
#include <utility>
#include <variant>

#include "base/log.h"
#include "ingest/agent_messages.h"
#include "node-agent/uplink/control_desk.h"
#include "node-agent/uplink/courier.h"

namespace fathom::agent {

CaptureCourier::Surroundings Courier::capture_surroundings() {
  CaptureCourier::Surroundings all;
  all.now_nano = surroundings_.now_nano;
  all.offset = [this](const LocalInstant& made) { return estimator_.at(made); };
  all.post = [this](std::function<void()> work) { post(std::move(work)); };
  return all;
}

void Courier::send(OutgoingCapture capture, std::function<void(CaptureFate)> done) {
  captures_.send(std::move(capture), std::move(done));
  pump_captures();
}

// Not while the collector halts batches with RETRY: it is then short of memory.
void Courier::pump_captures() {
  if (welcome_ && !is_halted()) captures_.pump(*link_);
}

void Courier::progressed(const ingest::CaptureProgress& progress) {
  captures_.heard(progress);
  pump_captures();
}

void Courier::announce(ingest::SlowTrace trace) {
  trace.clock = estimator_.at(surroundings_.instant());
  if (link_ && welcome_) link_->answer(encode(trace));
}

// A collector that accepts no captures needs no reports of missing ones.
bool Courier::report_skipped(const ingest::SkippedCaptures& skipped) {
  if (!link_ || !welcome_) return false;
  if (welcome_->max_capture_bytes > 0) link_->answer(encode(skipped));
  return true;
}

void Courier::asked(LinkControl control) {
  if (const auto* rules = std::get_if<ingest::Asked<ingest::RedactionRules>>(&control)) return use(*rules);
  ControlHandler* handler = surroundings_.control ? surroundings_.control() : nullptr;
  if (handler == nullptr) return;
  hand_over(std::move(control), options_.node_id, *handler,
            [this, number = link_number_, alive = std::weak_ptr(alive_)](std::string message) {
              if (alive.lock() && number == link_number_ && link_) link_->answer(std::move(message));
            });
}

// Not by the ControlHandler, which an agent without captures does not have: spans are redacted, too.
void Courier::use(const ingest::Asked<ingest::RedactionRules>& rules) const {
  if (!rules.fault.empty()) return log_warning(rules.fault + "; none of them is applied, and captures are rejected");
  if (options_.use_redaction_rules) options_.use_redaction_rules(rules.request);
}

}  // namespace fathom::agent

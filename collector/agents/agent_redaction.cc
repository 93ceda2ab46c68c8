#include "collector/agents/agent_redaction.h"

#include <utility>

#include "base/log.h"
#include "base/metrics.h"
#include "ingest/collector_messages.h"
#include "ingest/limits.h"

namespace fathom::collector {

namespace {

// The store counts other reasons under the same name (store/captures/capture_counters.cc).
Counter& unredacted_captures() {
  return counter("fathom_rejected_captures_total", "Captures that the store refused for good",
                 label("reason", "unredacted"));
}

std::string why_unredacted(bool has_fingerprint) {
  return has_fingerprint ? "the capture was encoded before the server's redaction rules changed"
                         : "the server has redaction rules, and the agent did not apply them to this capture: it is "
                           "older than the server and must be upgraded, or it made the capture before it had the rules";
}

// The captures of an agent that keeps older rules would all be rejected. It connects again, and gets these.
void send_rules(SessionWire& wire, const std::string& message) {
  if (!wire.send(message)) wire.end(StreamEnd::kTooMuch, "the redaction rules are not read");
}

}  // namespace

void AgentRedaction::list_metrics() {
  unredacted_captures();
}

void AgentRedaction::set(ingest::RedactionRules rules, std::shared_ptr<const Redactor> redactor) {
  std::lock_guard lock(mutex_);
  redactor_ = std::move(redactor);
  if (rules == rules_) return;
  rules_ = std::move(rules);
  const std::string message = encode(rules_);
  for (const auto& [stream, wire] : wires_) {
    if (const auto open = wire.lock()) send_rules(*open, message);
  }
}

void AgentRedaction::attach(uint64_t stream, std::weak_ptr<SessionWire> wire) {
  std::lock_guard lock(mutex_);
  if (const auto open = wire.lock()) send_rules(*open, encode(rules_));
  wires_[stream] = std::move(wire);
}

void AgentRedaction::detach(uint64_t stream) {
  std::lock_guard lock(mutex_);
  wires_.erase(stream);
}

std::shared_ptr<const Redactor> AgentRedaction::redactor() {
  std::lock_guard lock(mutex_);
  return redactor_;
}

std::string AgentRedaction::service(std::string name) {
  const auto rules = redactor();
  if (!rules) return name;
  RedactCounts counts{};
  std::string changed;
  switch (rules->attribute("service.name", RedactValue::of_text(name), ingest::kMostNameBytes, changed, counts)) {
    case RedactOutcome::kKept:
      return name;
    case RedactOutcome::kDropped:
      return "";
    case RedactOutcome::kChanged:
      break;
  }
  return changed;
}

std::string AgentRedaction::operation(std::string name) {
  const auto rules = redactor();
  RedactCounts counts{};
  std::string changed;
  const bool is_kept = !rules || rules->text(name, ingest::kMostNameBytes, changed, counts) == RedactOutcome::kKept;
  if (is_kept) return name;
  return changed;
}

std::string AgentRedaction::why_rejected(std::string_view fingerprint, const ingest::NodeId& node) {
  std::lock_guard lock(mutex_);
  if (rules_.fingerprint.empty() || fingerprint == rules_.fingerprint) return "";
  unredacted_captures().add();
  std::string why = why_unredacted(!fingerprint.empty());
  if (pace_.due()) log_warning("rejected a capture of node " + node.hex() + ": " + why);
  return why;
}

}  // namespace fathom::collector

#include "node-agent/redaction/redaction.h"

#include <array>
#include <cstdint>
#include <utility>

#include "base/metrics.h"
#include "client/pool/layout.h"

namespace fathom::agent {

namespace {

// Longer values are cut: no record of a program holds more.
constexpr size_t kRedactedBytes = pool::kMostRecordBytes;

std::shared_ptr<const Redactor> unless_empty(std::shared_ptr<const Redactor> redactor) {
  return redactor == nullptr || redactor->empty() ? nullptr : std::move(redactor);
}

Counter& redacted(RedactAction action) {
  return counter("fathom_agent_redacted_total", "Values that redaction rules removed or replaced, by action",
                 label("action", redact_action_name(action)));
}

void count(const RedactCounts& counts) {
  static const std::array<Counter*, kRedactActions> all = {
      &redacted(RedactAction::kDrop), &redacted(RedactAction::kHash), &redacted(RedactAction::kMask)};
  for (size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] != 0) all[i]->add(counts[i]);
  }
}

}  // namespace

Redaction::Redaction(std::shared_ptr<const Redactor> own, std::shared_ptr<const Redactor> server,
                     std::string server_fingerprint)
    : own_(unless_empty(std::move(own))),
      server_(unless_empty(std::move(server))),
      server_fingerprint_(std::move(server_fingerprint)) {}

void Redaction::list_metrics() {
  count({});
}

bool Redaction::has_value_rules() const {
  return (own_ && own_->has_value_rules()) || (server_ && server_->has_value_rules());
}

std::optional<RedactAction> Redaction::key_action(std::string_view key) const {
  const std::optional<RedactAction> own = own_ ? own_->key_action(key) : std::nullopt;
  const std::optional<RedactAction> server = server_ ? server_->key_action(key) : std::nullopt;
  return !own || server == RedactAction::kDrop ? server : own;
}

RedactOutcome Redaction::attribute(std::string_view key, const RedactValue& value, std::string& out) const {
  RedactCounts counts{};
  RedactOutcome outcome = RedactOutcome::kKept;
  if (own_) outcome = own_->attribute(key, value, kRedactedBytes, out, counts);
  if (server_ && outcome != RedactOutcome::kDropped) {
    const std::string so_far = outcome == RedactOutcome::kChanged ? std::exchange(out, {}) : std::string();
    const bool is_changed = outcome == RedactOutcome::kChanged;
    const RedactValue next = is_changed ? RedactValue::of_text(so_far) : value;
    const RedactOutcome by_server = server_->attribute(key, next, kRedactedBytes, out, counts);
    if (by_server != RedactOutcome::kKept) outcome = by_server;
    if (by_server == RedactOutcome::kKept && is_changed) out = so_far;
  }
  count(counts);
  return outcome;
}

std::string Redaction::text(std::string_view text) const {
  RedactCounts counts{};
  std::string result(text);
  for (const Redactor* redactor : {own_.get(), server_.get()}) {
    std::string changed;
    if (redactor == nullptr || redactor->text(result, kRedactedBytes, changed, counts) == RedactOutcome::kKept)
      continue;
    result = std::move(changed);
  }
  count(counts);
  return result;
}

}  // namespace fathom::agent

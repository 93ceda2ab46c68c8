#include "node-agent/redaction/current_redaction.h"

#include <optional>
#include <string>
#include <utility>

namespace fathom::agent {

namespace {

Result<std::shared_ptr<const Redactor>> redactor_of(const ingest::RedactionRules& rules) {
  if (rules.fingerprint.empty()) return std::shared_ptr<const Redactor>();
  const std::optional<RedactKey> key = RedactKey::from_bytes(rules.key);
  if (!key && !rules.key.empty()) return invalid("the key of the hashes has a wrong size");
  return Redactor::make(rules.rules, key.value_or(RedactKey()));
}

}  // namespace

std::shared_ptr<const Redaction> CurrentRedaction::get() const {
  std::lock_guard lock(mutex_);
  return current_;
}

void CurrentRedaction::set_own(std::shared_ptr<const Redactor> rules) {
  std::lock_guard lock(mutex_);
  own_ = std::move(rules);
  combine(current_ ? current_->server_fingerprint() : std::string());
}

Result<> CurrentRedaction::set_server(const ingest::RedactionRules& rules) {
  auto made = redactor_of(rules);
  std::lock_guard lock(mutex_);
  if (!made) {
    combine(std::string());
    return made.error();
  }
  server_ = *std::move(made);
  combine(rules.fingerprint);
  return {};
}

void CurrentRedaction::combine(std::string server_fingerprint) {
  auto both = std::make_shared<const Redaction>(own_, server_, std::move(server_fingerprint));
  current_ = both->empty() ? nullptr : std::move(both);
}

}  // namespace fathom::agent

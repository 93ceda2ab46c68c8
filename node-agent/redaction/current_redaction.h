// CurrentRedaction: the redaction rules that apply now.
//
// Purpose: the agent's own rules change when its configuration is reloaded, the server's when a message arrives.
// Everything that reads programs' memory takes the current rules for a batch, a capture or a name. Thread safety: all
// of it. Ownership: get() shares; a user keeps its rules until it asks again. Errors: of set_server(), which then keeps
// applying the earlier rules, under no fingerprint: the server rejects the captures.
#pragma once

#include <memory>
#include <mutex>

#include "base/result.h"
#include "ingest/control.h"
#include "node-agent/redaction/redaction.h"

namespace fathom::agent {

class CurrentRedaction {
 public:
  // Null: no rules.
  std::shared_ptr<const Redaction> get() const;

  void set_own(std::shared_ptr<const Redactor> rules);
  Result<> set_server(const ingest::RedactionRules& rules);

 private:
  void combine(std::string server_fingerprint);

  mutable std::mutex mutex_;
  std::shared_ptr<const Redactor> own_;
  std::shared_ptr<const Redactor> server_;
  std::shared_ptr<const Redaction> current_;
};

// The rules of `redaction`; null: it is null, or there are no rules.
inline std::shared_ptr<const Redaction> rules_of(const CurrentRedaction* redaction) {
  return redaction == nullptr ? nullptr : redaction->get();
}

}  // namespace fathom::agent

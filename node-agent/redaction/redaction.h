// Redaction: the redaction rules of this agent, then those of the server, as one.
//
// Purpose: what the agent reads of programs is redacted before it is encoded, spooled or sent. The agent's own rules
// come first; the server's rules get the result. A hash or a mask stays as it is, so the server may apply its rules
// again (redact/redactor.h). Thread safety: immutable; all methods may be called from any thread. Ownership: shares the
// redactors. Errors: none. Changed and dropped values are counted in fathom_agent_redacted_total{action}.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "redact/redactor.h"

namespace fathom::agent {

class Redaction {
 public:
  // Either may be null: no such rules. `server_fingerprint`: as the server sent it.
  Redaction(std::shared_ptr<const Redactor> own, std::shared_ptr<const Redactor> server,
            std::string server_fingerprint);

  static void list_metrics();  // at 0, before anything happens

  bool empty() const { return own_ == nullptr && server_ == nullptr; }
  bool has_value_rules() const;
  // Returned to the server with each capture; empty: no rules of a server were applied.
  const std::string& server_fingerprint() const { return server_fingerprint_; }

  // The action of the first key rule that matches; kDrop if either side's is.
  std::optional<RedactAction> key_action(std::string_view key) const;
  // By key and value. `out`: the result if kChanged. `out` must not be what `value` refers to.
  RedactOutcome attribute(std::string_view key, const RedactValue& value, std::string& out) const;
  // By value only: a name, a message. Never dropped.
  std::string text(std::string_view text) const;

 private:
  const std::shared_ptr<const Redactor> own_;
  const std::shared_ptr<const Redactor> server_;
  const std::string server_fingerprint_;
};

}  // namespace fathom::agent

// The agent's redaction rules: those of its configuration, and those that the server sent last.
//
// Purpose: the server's rules are kept in the state directory, so that an agent that starts while the server is away
// redacts its spool and its captures as before. Thread safety: none, the daemon's loop has one. Ownership: of the
// rules; what refers to current() must go first. Errors: open() and read() name the key of the configuration, and the
// fix.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "apps/agent/options.h"
#include "base/result.h"
#include "ingest/control.h"
#include "node-agent/redaction/current_redaction.h"

namespace fathom {

// Whether the file of the key is right, if one is named.
Result<> check_redact_key(const AgentProgramOptions& options);

class AgentRedactionRules {
 public:
  // `state`: the state directory, which exists. Makes the file of the key if a rule needs it.
  Result<> open(const AgentProgramOptions& options, const std::string& state);
  // The rules of another configuration, for use_own().
  Result<std::shared_ptr<const Redactor>> read(const AgentProgramOptions& options) const;
  void use_own(std::shared_ptr<const Redactor> rules) { current_.set_own(std::move(rules)); }
  // Rules that cannot be applied are logged; the server then rejects captures.
  void use_servers(const ingest::RedactionRules& rules);
  const agent::CurrentRedaction& current() const { return current_; }

 private:
  std::string state_;
  agent::CurrentRedaction current_;
};

}  // namespace fathom

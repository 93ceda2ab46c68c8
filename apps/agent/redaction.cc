#include "apps/agent/redaction.h"

#include <utility>
#include <vector>

#include "base/log.h"
#include "node-agent/redaction/stored_rules.h"
#include "redact/key_file.h"

namespace fathom {

namespace {

std::string key_file_of(const AgentProgramOptions& options, const std::string& state) {
  return options.redact_key_file.empty() ? state + "/" + kRedactKeyFile : options.redact_key_file;
}

std::string file_of_server_rules(const std::string& state) {
  return state + "/server-redaction-rules";
}

}  // namespace

Result<> check_redact_key(const AgentProgramOptions& options) {
  if (options.redact_key_file.empty()) return {};
  Result<RedactKey> key = read_redact_key(options.redact_key_file);
  if (!key) return key.error();
  return {};
}

Result<> AgentRedactionRules::open(const AgentProgramOptions& options, const std::string& state) {
  state_ = state;
  auto own = read(options);
  if (!own) return own.error();
  use_own(*std::move(own));
  Result<ingest::RedactionRules> stored = agent::load_rules(file_of_server_rules(state_));
  Result<> used = stored ? current_.set_server(*stored) : Result<>(stored.error());
  if (!used) {
    log_warning("the server's redaction rules are not applied until the server sends them: " + used.error().message);
  }
  return {};
}

Result<std::shared_ptr<const Redactor>> AgentRedactionRules::read(const AgentProgramOptions& options) const {
  Result<std::vector<RedactRule>> rules = parse_redact_rules(options.redact);
  if (!rules) return rules.error();
  RedactKey key;
  if (has_hash_rule(*rules)) {
    Result<RedactKey> read = read_or_make_redact_key(key_file_of(options, state_));
    if (!read) return read.error();
    key = *read;
  }
  return Redactor::make(options.redact, key);
}

void AgentRedactionRules::use_servers(const ingest::RedactionRules& rules) {
  if (Result<> used = current_.set_server(rules); !used) {
    return log_warning("cannot apply the server's redaction rules: " + used.error().message +
                       "; the server rejects this agent's captures; upgrade the agent");
  }
  Result<> stored = agent::store_rules(file_of_server_rules(state_), rules);
  if (!stored) log_warning("cannot keep the server's redaction rules: " + stored.error().message);
}

}  // namespace fathom

// The server's redaction rules in a file, for an agent that starts while the server is away.
//
// Purpose: without them the agent would spool spans that the server's rules redact. The file is the message that the
// server sent (proto/ingest.proto), with mode 0600, because it has the key of the hashes. Thread safety: plain
// functions; one process writes a file. Errors: the message names the file. Hostility: the file is checked as the
// message is.
#pragma once

#include <string>

#include "base/result.h"
#include "ingest/control.h"

namespace fathom::agent {

// Replaces the file as a whole; without rules there is none.
Result<> store_rules(const std::string& path, const ingest::RedactionRules& rules);
// No file: no rules.
Result<ingest::RedactionRules> load_rules(const std::string& path);

}  // namespace fathom::agent

// The file in which a server keeps the rules of tracepoints: DIR/tracepoint-rules (docs/formats/data-directory.md).
//
// Thread safety: one thread. Errors: what the system says; kCorrupt for what is no such file, is damaged, or has what
// are no rules; kUnsupported for another version. What cannot be read is not overwritten either: set_rules_aside().
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "collector/control/tracepoint_rules.h"

namespace fathom::collector {

// None when there is no file.
Result<TracepointRules> read_rules(const std::string& directory);
// They are durable when this returns.
Result<> write_rules(const std::string& directory, const TracepointRules& rules);
// Renames the file to tracepoint-rules.damaged, where an older one goes; returns its path.
Result<std::string> set_rules_aside(const std::string& directory);

// The file's bytes.
Result<TracepointRules> decode_rules(std::string_view content);
std::string encode_rules(const TracepointRules& rules);
// What stands before a message of rules, and the message.
std::string with_rules_head(std::string_view message);

}  // namespace fathom::collector

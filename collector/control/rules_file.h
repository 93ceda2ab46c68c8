// The file in which a server keeps the rules of tracepoints: DIR/tracepoint-rules (docs/formats/data-directory.md).
//
// Thread safety: one thread. Errors: what the system says; kCorrupt for what is no such file, or has what are no rules.
#pragma once

#include <string>

#include "base/result.h"
#include "collector/control/tracepoint_rules.h"

namespace fathom::collector {

// None when there is no file.
Result<TracepointRules> read_rules(const std::string& directory);
// They are durable when this returns.
Result<> write_rules(const std::string& directory, const TracepointRules& rules);

}  // namespace fathom::collector

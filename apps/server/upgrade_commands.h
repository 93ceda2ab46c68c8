// What fathom-server does with the upgrade of a data directory, instead of serving it.
//
// Purpose: `fathom-server revert-upgrade DIR` and `fathom-server commit-upgrade DIR` (docs/deploy.md). Thread safety:
// one thread. Errors: those of store/rocks/upgrade_backup.h; kInvalid for a wrong command line.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace fathom {

// Nothing: `words` are the flags of a server. Otherwise the text for people, or the error.
std::optional<Result<std::string>> run_upgrade_command(const std::vector<std::string>& words);

}  // namespace fathom

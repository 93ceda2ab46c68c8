// How doctor's findings are written.
//
// Thread safety: pure functions.
#pragma once

#include <string>
#include <vector>

#include "cli/doctor_checks.h"

namespace fathom::cli {

std::string findings_text(const std::vector<Finding>& findings, bool colour);
std::string findings_json(const std::vector<Finding>& findings);

}  // namespace fathom::cli

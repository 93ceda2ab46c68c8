// The reports of fathom-store: as text for people, and as JSON.
//
// Thread safety: pure functions.
#pragma once

#include <string>

#include "store/verify/findings.h"

namespace fathom {

enum class StoreVerb { kVerify, kRepair };

// `to`: of a repair, the new directory.
std::string store_report_text(StoreVerb verb, const store::Findings& findings, const std::string& directory,
                              const std::string& to = "");
std::string store_report_json(StoreVerb verb, const store::Findings& findings, const std::string& directory,
                              const std::string& to = "");

}  // namespace fathom

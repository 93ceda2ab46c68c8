// Lists that the server gives in pages: fetched until there are enough.
//
// Thread safety: one thread, as Api. Errors: as Api's.
#pragma once

#include <boost/json.hpp>
#include <cstdint>
#include <string>

#include "cli/api.h"

namespace fathom::cli {

// `list`: the answer's member that has the rows.
Result<boost::json::array> fetch_pages(const Api& api, const Target& target, const std::string& list, uint64_t limit);

}  // namespace fathom::cli

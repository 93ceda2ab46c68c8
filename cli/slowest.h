// The slowest requests: fetched page by page, and as a table.
//
// Thread safety: one thread. Errors: those of Api and of the flags.
#pragma once

#include <boost/json.hpp>
#include <string>

#include "cli/api.h"

namespace fathom::cli {

// At most `limit` rows; `target` is /api/v1/slowest with its filters.
Result<boost::json::array> fetch_rows(const Api& api, const Target& target, uint64_t limit);

std::string slowest_table(const boost::json::array& rows, bool by_span, size_t columns);
// Any list of rows as the JSON array itself, a row per line.
std::string rows_json(const boost::json::array& rows);

}  // namespace fathom::cli

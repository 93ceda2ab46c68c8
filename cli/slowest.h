// The slowest requests as a table.
//
// Thread safety: pure functions.
#pragma once

#include <boost/json.hpp>
#include <string>

namespace fathom::cli {

std::string slowest_table(const boost::json::array& rows, bool by_span, size_t columns);
// Any list of rows as the JSON array itself, a row per line.
std::string rows_json(const boost::json::array& rows);

}  // namespace fathom::cli

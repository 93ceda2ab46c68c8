// Lists that the server gives in pages: fetched until there are enough.
//
// Thread safety: one thread, as Api. Errors: as Api's.
#pragma once

#include <boost/json.hpp>
#include <cstdint>
#include <functional>
#include <string>

#include "cli/api.h"

namespace fathom::cli {

inline constexpr uint64_t kMostRows = 1'000'000;  // that a command may be asked to fetch

// Of a row: whether it is one of those that are fetched.
using IsWanted = std::function<bool(const boost::json::value& row)>;

// `list`: the answer's member that has the rows; `limit`: of rows that are wanted.
Result<boost::json::array> fetch_pages(const Api& api, const Target& target, const std::string& list, uint64_t limit,
                                       const IsWanted& is_wanted = {});

}  // namespace fathom::cli

// What nodes say of tracepoints, as a table: one line per place in the code and service, with how many programs have
// it.
//
// Thread safety: pure functions.
#pragma once

#include <boost/json.hpp>
#include <string>

namespace fathom::cli {

// Empty where there are none. `nodes` as GET /api/v1/tracepoints has them.
std::string tracepoint_table(const boost::json::array& nodes, size_t columns);
// `rules` as GET /api/v1/tracepoints/rules has them; empty where there are none.
std::string rules_table(const boost::json::array& rules, size_t columns);
bool is_truncated(const boost::json::array& nodes);

}  // namespace fathom::cli

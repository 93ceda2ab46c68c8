// Captures as lines: for the list of them, and for a trace that has some.
//
// Thread safety: pure functions. Everything has gone through printable().
#pragma once

#include <boost/json.hpp>
#include <cstddef>
#include <string>

namespace fathom::cli {

std::string captures_table(const boost::json::array& captures, size_t columns);

// Under a trace: which captures there are, which of its services, or of their processes, have none, and how to see
// them; empty where there are none at all.
std::string captures_note(const boost::json::value& trace);

}  // namespace fathom::cli

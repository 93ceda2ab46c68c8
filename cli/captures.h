// Captures as lines: for the list of them, and for a trace that has some.
//
// Thread safety: pure functions. Everything has gone through printable().
#pragma once

#include <boost/json.hpp>
#include <cstddef>
#include <string>

namespace fathom::cli {

std::string captures_table(const boost::json::array& captures, size_t columns);

// The note under a trace: its captures, its services or processes without a capture, and the command that shows the
// captures; empty if the trace has no capture.
std::string captures_note(const boost::json::value& trace);

}  // namespace fathom::cli

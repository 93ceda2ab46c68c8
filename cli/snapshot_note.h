// Under a trace or a timeline: which snapshots of it the server has, and how to look into them.
//
// Thread safety: a pure function. Everything has gone through printable().
#pragma once

#include <boost/json.hpp>
#include <string>

namespace fathom::cli {

// One line each; empty where there are none.
std::string snapshots_note(const boost::json::value& document);
// Under a trace: what single steps held of it meanwhile.
std::string stepped_note(const boost::json::value& document);

}  // namespace fathom::cli

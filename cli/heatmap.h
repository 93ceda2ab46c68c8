// The latency heatmap as text: time to the right, duration upwards, the denser the more spans.
//
// Thread safety: pure functions.
#pragma once

#include <boost/json.hpp>
#include <string>

namespace fathom::cli {

// `latency`: the server's answer with cells. Steps without spans are blank; at most `columns` of the newest steps are
// shown when it is not 0. Empty when there are no cells.
std::string heatmap_text(const boost::json::value& latency, size_t columns);

}  // namespace fathom::cli

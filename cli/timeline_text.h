// A timeline as text: per process and thread, what it did, indented under its spans.
//
// Purpose: show where the time went: under each span, how long its thread ran and waited, the most expensive waits,
// their places, and the threads that ended them. Times are offsets from the begin of the request. All names and values
// have passed printable(). Thread safety: pure functions.
#pragma once

#include <boost/json.hpp>
#include <cstddef>
#include <string>

namespace fathom::cli {

struct TimelineTextOptions {
  size_t columns = 0;  // of the terminal; 0: never cut
  bool colour = false;
  size_t max_lines = 0;  // of each thread, spans not counted; 0: all
};

// `timeline` is the server's document.
std::string timeline_text(const boost::json::value& timeline, const TimelineTextOptions& options);

}  // namespace fathom::cli

// A timeline as text: per process and thread, what it did, indented under its spans.
//
// Purpose: a person sees at a glance where the time went: under each span how long its thread ran and waited, and
// which waits took most of the time, in what, and who ended them. Times are offsets from the request's begin. Every
// name and value has gone through printable(). Thread safety: pure functions.
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

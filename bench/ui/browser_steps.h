// The measurements that a browser takes: scripts of ui/e2e, run by Node, whose last line is their figures.
//
// Purpose: what is measured of the page is measured in the page; this is the way from there into a report. Thread
// safety: one thread. Errors: kUnavailable with what the script said; missing_for_browser() names the cure beforehand.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "bench/report.h"

namespace fathom::bench {

struct BrowserPlaces {
  std::string ui;        // the page's sources, with npm's packages
  std::string chromium;  // the program
};

// What is not there, and how to get it; empty when all is there.
std::string missing_for_browser(const BrowserPlaces& places);

// Runs a command to its end, and adds what its last line tells: {"figures":[{"key","value","what"}..],"notes":[..],
// "not_measured":[{"key","why"}..]}, or bare {KEY:number}.
Result<> add_measured(Report& report, const std::vector<std::string>& command, const BrowserPlaces& places,
                      int limit_seconds);

// The same of a line that is there already.
Result<> add_told(Report& report, std::string_view line);

}  // namespace fathom::bench

// Bars on a logarithmic scale, ours beside the survey's, as an SVG image.
//
// Thread safety: plain functions. Units: nanoseconds. Errors: write_plot() says why a file cannot be written.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace fathom::bench::tracers {

struct Bar {
  std::string label;
  double here = 0;    // 0: none
  double survey = 0;  // 0: none
};
struct Panel {
  std::string title;
  std::vector<Bar> bars;
};

std::string svg_of(const std::vector<Panel>& panels, const std::string& caption);
Result<> write_plot(const std::string& path, const std::vector<Panel>& panels, const std::string& caption);

}  // namespace fathom::bench::tracers

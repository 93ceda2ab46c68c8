#include "cli/heatmap.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "base/time.h"
#include "cli/api.h"
#include "cli/text.h"

namespace fathom::cli {

namespace {

constexpr size_t kLabelWidth = 15;  // the longest duration, "213503 d 23 h", a blank and a line
constexpr size_t kFewestSteps = 10;
constexpr size_t kMostSteps = 2000;  // whatever the server says its step is
constexpr const char* kShades[] = {" ", "\u2591", "\u2592", "\u2593", "\u2588"};

struct Grid {
  uint64_t first_unix_nano = 0;
  uint64_t step_nano = 1;
  size_t steps = 0;
  uint64_t most = 0;
  std::map<uint64_t, std::vector<uint64_t>> rows;  // high end of the bucket -> spans per step
};

size_t steps_that_fit(size_t columns) {
  if (columns == 0) return kMostSteps;
  return columns > kLabelWidth + kFewestSteps ? columns - kLabelWidth : kFewestSteps;
}

void add_point(Grid& grid, const boost::json::value& point) {
  uint64_t start = number_of(point, "start_time_unix_nano");
  if (start < grid.first_unix_nano) return;
  size_t step = static_cast<size_t>((start - grid.first_unix_nano) / grid.step_nano);
  if (step >= grid.steps) return;
  for (const boost::json::value& cell : array_of(point, "cells")) {
    auto& row = grid.rows.try_emplace(number_of(cell, "high_nano"), grid.steps).first->second;
    row[step] += number_of(cell, "count");
    grid.most = std::max(grid.most, row[step]);
  }
}

Grid make_grid(const boost::json::value& latency, size_t columns) {
  Grid grid;
  const boost::json::array& points = array_of(latency, "points");
  if (points.empty()) return grid;
  grid.step_nano = std::max<uint64_t>(number_of(latency, "step_nano"), 1);
  uint64_t first = number_of(points.front(), "start_time_unix_nano");
  uint64_t last = std::max(number_of(points.back(), "start_time_unix_nano"), first);
  uint64_t all = (last - first) / grid.step_nano + 1;
  grid.steps = static_cast<size_t>(std::min<uint64_t>(all, steps_that_fit(columns)));
  grid.first_unix_nano = last - (grid.steps - 1) * grid.step_nano;
  for (const boost::json::value& point : points) add_point(grid, point);
  return grid;
}

// One span is visible, the fullest cell is full, and the scale between is even.
const char* shade(uint64_t count, uint64_t most) {
  double share = static_cast<double>(count) / static_cast<double>(most);
  return kShades[static_cast<size_t>(std::ceil(share * 4))];
}

}  // namespace

std::string heatmap_text(const boost::json::value& latency, size_t columns) {
  Grid grid = make_grid(latency, columns);
  if (grid.most == 0) return "";
  std::string out;
  for (auto row = grid.rows.rbegin(); row != grid.rows.rend(); ++row) {
    out += pad_to_width(format_duration(row->first), kLabelWidth - 2, Align::kRight) + " \u2502";
    for (uint64_t count : row->second) out += shade(count, grid.most);
    out += "\n";
  }
  uint64_t last = grid.first_unix_nano + (grid.steps - 1) * grid.step_nano;
  out += std::string(kLabelWidth, ' ') + short_instant(grid.first_unix_nano) + " to " + short_instant(last) +
         " UTC, a column per " + format_duration(grid.step_nano) + ", full: " + group_digits(grid.most) +
         (grid.most == 1 ? " span\n" : " spans\n");
  return out;
}

}  // namespace fathom::cli

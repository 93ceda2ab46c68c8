#include "snapshot/analyze/distribution.h"

#include <algorithm>
#include <array>
#include <span>

#include "base/text.h"

namespace fathom::snapshot {
namespace {

constexpr size_t kMostBars = 24;
constexpr size_t kBarColumns = 40;

// Bounds within a power of ten, from fine to coarse.
constexpr std::array<uint64_t, 18> kFine = {100, 110, 120, 130, 140, 150, 160, 180, 200,
                                            225, 250, 300, 350, 400, 500, 600, 700, 800};
constexpr std::array<uint64_t, 10> kMiddle = {100, 120, 150, 200, 250, 300, 400, 500, 600, 800};
constexpr std::array<uint64_t, 3> kCoarse = {100, 200, 500};
constexpr std::array<uint64_t, 1> kTens = {100};

// All bounds that whole numbers can have, ascending.
std::vector<uint64_t> bounds_of(std::span<const uint64_t> steps) {
  std::vector<uint64_t> bounds = {0};
  for (unsigned __int128 ten = 1; ten <= UINT64_MAX; ten *= 10) {
    for (const uint64_t step : steps) {
      const unsigned __int128 bound = ten * step / 100;
      if (bound > bounds.back() && bound <= UINT64_MAX) bounds.push_back(static_cast<uint64_t>(bound));
    }
  }
  bounds.push_back(UINT64_MAX);
  return bounds;
}

size_t bound_at(const std::vector<uint64_t>& bounds, uint64_t value) {
  const auto next = std::upper_bound(bounds.begin(), bounds.end() - 1, value);
  return static_cast<size_t>(next - bounds.begin()) - 1;
}

// The finest bounds that make few enough bars.
std::vector<uint64_t> fitting_bounds(uint64_t min, uint64_t max) {
  for (const std::span<const uint64_t> steps :
       {std::span<const uint64_t>(kFine), std::span<const uint64_t>(kMiddle), std::span<const uint64_t>(kCoarse)}) {
    auto bounds = bounds_of(steps);
    if (bound_at(bounds, max) - bound_at(bounds, min) < kMostBars) return bounds;
  }
  return bounds_of(kTens);
}

std::string bar_of(uint64_t count, uint64_t most) {
  const size_t length = static_cast<size_t>((static_cast<double>(count) / static_cast<double>(most)) * kBarColumns);
  return std::string(count > 0 ? std::max<size_t>(length, 1) : 0, '#');
}

uint64_t most_of(const std::vector<Distribution::Bar>& bars) {
  uint64_t most = 1;
  for (const auto& bar : bars) most = std::max(most, bar.count);
  return most;
}

}  // namespace

void Distribution::record(uint64_t value) {
  histogram_.record(value);
  min_ = std::min(min_, value);
  sum_ = sum_ + value < sum_ ? UINT64_MAX : sum_ + value;
}

void Distribution::merge(const Distribution& other) {
  histogram_.merge(other.histogram_);
  min_ = std::min(min_, other.min_);
  sum_ = sum_ + other.sum_ < sum_ ? UINT64_MAX : sum_ + other.sum_;
}

// A bucket's middle can lie below the least value.
uint64_t Distribution::quantile(double q) const {
  return std::max(histogram_.quantile_nano(q), min());
}

std::vector<Distribution::Bar> Distribution::bars() const {
  std::vector<Bar> bars;
  if (count() == 0) return bars;
  const auto bounds = fitting_bounds(min(), max());
  const size_t first = bound_at(bounds, min());
  for (size_t i = first; i <= bound_at(bounds, max()); ++i) bars.push_back({bounds[i], bounds[i + 1], 0});
  for (const auto& [bucket, count] : histogram_.buckets()) {
    const uint64_t value = std::clamp(Histogram::bucket_middle_nano(bucket), min(), max());
    bars[bound_at(bounds, value) - first].count += count;
  }
  return bars;
}

std::string distribution_text(const Distribution& distribution, const NumberText& text) {
  if (distribution.count() == 0) return "  none\n";
  std::string out = "  count " + group_digits(distribution.count()) + "  min " + text(distribution.min());
  out += "  p50 " + text(distribution.quantile(0.5)) + "  p99 " + text(distribution.quantile(0.99));
  out += "  max " + text(distribution.max()) + "\n";
  const auto bars = distribution.bars();
  const uint64_t most = most_of(bars);
  for (const auto& bar : bars) {
    out += "  " + pad_to_width(text(bar.low), 12, Align::kRight) + "  " +
           pad_to_width(group_digits(bar.count), 10, Align::kRight) + "  " + bar_of(bar.count, most);
    while (out.ends_with(' ')) out.pop_back();
    out += "\n";
  }
  return out;
}

void distribution_json(net::JsonWriter& json, const Distribution& distribution) {
  json.begin_object().member("count", distribution.count());
  json.member("min", distribution.min()).member("p50", distribution.quantile(0.5));
  json.member("p90", distribution.quantile(0.9)).member("p99", distribution.quantile(0.99));
  json.member("max", distribution.max()).member("sum", distribution.sum()).key("bars").begin_array();
  for (const auto& bar : distribution.bars()) {
    json.begin_object().member("low", bar.low).member("high", bar.high).member("count", bar.count).end_object();
  }
  json.end_array().end_object();
}

void draw_distribution(Svg& svg, double x, double y, double width, double height, const Distribution& distribution,
                       std::string_view title, const NumberText& text) {
  svg.text(x, y + 14, title, 14);
  const auto bars = distribution.bars();
  if (bars.empty()) {
    svg.text(x, y + 40, "none");
    return;
  }
  const double bottom = y + height - 30;
  const double tallest = height - 60;
  const double each = width / static_cast<double>(bars.size());
  const uint64_t most = most_of(bars);
  for (size_t i = 0; i < bars.size(); ++i) {
    const double tall = tallest * static_cast<double>(bars[i].count) / static_cast<double>(most);
    const double left = x + each * static_cast<double>(i);
    const std::string range = text(bars[i].low) + " to " + text(bars[i].high);
    svg.rect(left, bottom - tall, each * 0.9, tall, "#80b1d3", range + ": " + group_digits(bars[i].count));
    if (i % (bars.size() / 8 + 1) == 0) svg.text(left, bottom + 16, text(bars[i].low), 11);
  }
  svg.line(x, bottom, x + width, bottom);
  svg.text(x + width, y + 14, "most in a bar: " + group_digits(most), 11, "end");
}

}  // namespace fathom::snapshot

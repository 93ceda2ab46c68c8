#include <algorithm>
#include <array>

#include "base/time.h"
#include "query/ceil_div.h"
#include "query/queries.h"

namespace fathom::query {

namespace {

constexpr uint64_t kChosenPoints = 200;
constexpr uint32_t kHeatmapRows = 40;
constexpr uint64_t kMinutesPerDay = 24 * 60;
constexpr std::array<uint64_t, 12> kRoundMinutes{1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720, kMinutesPerDay};

// An open end is no width to divide: it counts as now.
uint64_t width_nano(const store::TimeRange& range, uint64_t now_unix_nano) {
  uint64_t to = range.to_unix_nano;
  if (to == UINT64_MAX) to = std::max(now_unix_nano, range.from_unix_nano);
  return to - range.from_unix_nano;
}

uint64_t chosen_step(uint64_t width) {
  uint64_t minutes = std::max<uint64_t>(1, ceil_div(width, kChosenPoints * kNanosPerMinute));
  auto round = std::lower_bound(kRoundMinutes.begin(), kRoundMinutes.end(), minutes);
  if (round != kRoundMinutes.end()) return *round * kNanosPerMinute;
  return ceil_div(minutes, kMinutesPerDay) * kMinutesPerDay * kNanosPerMinute;
}

// How many of the histogram's fine buckets one row of the heatmap holds.
uint32_t buckets_per_row(const std::vector<store::LatencyPoint>& points) {
  uint32_t lowest = UINT32_MAX;
  uint32_t highest = 0;
  for (const auto& point : points) {
    if (point.durations.empty()) continue;
    lowest = std::min(lowest, point.durations.buckets().front().first);
    highest = std::max(highest, point.durations.buckets().back().first);
  }
  if (lowest > highest) return 1;
  return static_cast<uint32_t>(ceil_div(highest - lowest + 1, kHeatmapRows));
}

std::vector<HeatmapCell> cells_of(const store::Histogram& durations, uint32_t per_row) {
  std::vector<HeatmapCell> cells;
  uint32_t last_row = UINT32_MAX;
  for (auto [bucket, count] : durations.buckets()) {
    uint32_t row = bucket / per_row;
    if (row != last_row) {
      uint32_t first = row * per_row;
      cells.push_back(
          {store::Histogram::bucket_low_nano(first), store::Histogram::bucket_high_nano(first + per_row - 1), 0});
    }
    cells.back().count += count;
    last_row = row;
  }
  return cells;
}

}  // namespace

Result<uint64_t> latency_step(const LatencyQuery& query, uint64_t now_unix_nano) {
  uint64_t width = width_nano(query.range, now_unix_nano);
  if (query.step_nano == 0) return chosen_step(width);
  if (query.step_nano % kNanosPerMinute != 0) {
    return invalid("'step' must be a whole number of minutes, such as 1m, 5m or 1h");
  }
  if (width / query.step_nano > kMaxLatencyPoints) {
    return invalid("that is more than " + std::to_string(kMaxLatencyPoints) +
                   " points; take a longer 'step' or less time");
  }
  return query.step_nano;
}

Result<LatencyAnswer> run_latency(store::SpanStore& store, const LatencyQuery& query, store::QueryBudget& budget) {
  auto step = latency_step(query, now_unix_nano());
  if (!step) return step.error();
  auto points = store.latency(query.range, query.service, query.operation, *step, budget);
  if (!points) return points.error();
  LatencyAnswer answer{.step_nano = *step};
  uint32_t per_row = buckets_per_row(*points);
  for (auto& point : *points) {
    LatencyAnswerPoint& out = answer.points.emplace_back();
    if (query.heatmap) out.cells = cells_of(point.durations, per_row);
    out.point = std::move(point);
  }
  return answer;
}

}  // namespace fathom::query

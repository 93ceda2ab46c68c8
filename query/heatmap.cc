#include "query/heatmap.h"

#include <algorithm>
#include <array>

#include "base/time.h"
#include "net/json_writer.h"
#include "query/ceil_div.h"

namespace fathom::query {

namespace {

using store::Histogram;

// So many are counted one by one in a tenth of a second.
constexpr uint64_t kMostCountedOneByOne = 1'500'000;

constexpr std::array<uint64_t, 20> kRoundSeconds{1,   2,    5,    10,   15,    30,    60,    120,   300,    600,
                                                 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800};

uint64_t round_below_a_second(uint64_t nano) {
  uint64_t power = 1;
  while (power * 10 <= nano) power *= 10;
  for (uint64_t factor : {1, 2, 5, 10}) {
    if (power * factor >= nano) return power * factor;
  }
  return power * 10;
}

uint32_t last_bucket() {
  return Histogram::bucket_of(UINT64_MAX);
}

// Counts per column and bucket of the histograms that the whole store uses.
class Grid {
 public:
  explicit Grid(uint64_t columns)
      : buckets_(last_bucket() + 1), spans_(columns * buckets_), errors_(columns * buckets_) {}

  size_t bytes() const { return (spans_.size() + errors_.size()) * sizeof(uint32_t); }
  void add(uint64_t column, uint32_t bucket, uint64_t spans, uint64_t errors) {
    size_t at = column * buckets_ + bucket;
    spans_[at] += static_cast<uint32_t>(spans);
    errors_[at] += static_cast<uint32_t>(errors);
    lowest_ = std::min(lowest_, bucket);
    highest_ = std::max(highest_, bucket);
  }
  // Adds up rows of buckets into `answer`, and says where rows begin.
  void bin(uint64_t rows, HeatmapAnswer& answer) const {
    if (lowest_ > highest_) return;
    uint64_t per_row = ceil_div(highest_ - lowest_ + 1, rows);
    uint64_t first_row = lowest_ / per_row, last_row = highest_ / per_row;
    answer.row_bounds_nano.push_back(Histogram::bucket_low_nano(static_cast<uint32_t>(first_row * per_row)));
    for (uint64_t row = first_row; row <= last_row; ++row) {
      uint64_t last = std::min<uint64_t>((row + 1) * per_row - 1, last_bucket());
      answer.row_bounds_nano.push_back(Histogram::bucket_high_nano(static_cast<uint32_t>(last)));
    }
    for (uint64_t column = 0; column < answer.columns; ++column) bin_column(column, per_row, first_row, answer);
  }

 private:
  void bin_column(uint64_t column, uint64_t per_row, uint64_t first_row, HeatmapAnswer& answer) const {
    uint64_t open_row = UINT64_MAX;
    for (uint32_t bucket = lowest_; bucket <= highest_; ++bucket) {
      size_t at = column * buckets_ + bucket;
      if (spans_[at] == 0) continue;
      uint64_t row = bucket / per_row - first_row;
      if (row != open_row) answer.bins.push_back({column, row, 0, 0});
      open_row = row;
      answer.bins.back().spans += spans_[at];
      answer.bins.back().errors += errors_[at];
      answer.spans += spans_[at];
      answer.errors += errors_[at];
    }
  }

  const uint64_t buckets_;
  std::vector<uint32_t> spans_, errors_;
  uint32_t lowest_ = UINT32_MAX;
  uint32_t highest_ = 0;
};

Result<> count_spans(store::SpanStore& store, const store::Filter& filter, Grid& grid, HeatmapAnswer& answer,
                     store::QueryBudget& budget) {
  return store.visit_times(
      filter,
      [&](const store::TimesView& times) {
        for (size_t i = 0; i < times.error.size(); ++i) {
          uint64_t column = (times.start_unix_nano[i] - answer.start_unix_nano) / answer.step_nano;
          grid.add(column, Histogram::bucket_of(times.duration_nano[i]), 1, times.error[i]);
          answer.max_nano = std::max(answer.max_nano, times.duration_nano[i]);
        }
      },
      budget);
}

// The index knows how many failed, not which: a column's errors are given to its buckets in proportion.
void add_point(const store::LatencyPoint& point, uint64_t column, Grid& grid) {
  uint64_t spans_left = point.durations.count(), errors_left = point.errors;
  for (auto [bucket, count] : point.durations.buckets()) {
    auto errors = static_cast<uint64_t>(static_cast<unsigned __int128>(errors_left) * count / spans_left);
    grid.add(column, bucket, count, errors);
    spans_left -= count;
    errors_left -= errors;
  }
}

Result<> add_minutes(store::SpanStore& store, const store::Filter& filter, Grid& grid, HeatmapAnswer& answer,
                     store::QueryBudget& budget) {
  auto points = store.latency(filter.range, filter.service, filter.operation, answer.step_nano, budget);
  if (!points) return points.error();
  for (const store::LatencyPoint& point : *points) {
    uint64_t column = (point.start_unix_nano - answer.start_unix_nano) / answer.step_nano;
    add_point(point, column, grid);
    answer.max_nano = std::max(answer.max_nano, point.durations.max_nano());
    if (point.errors > 0 && point.errors < point.durations.count()) answer.errors_exact = false;
  }
  return {};
}

void place_columns(const store::TimeRange& range, HeatmapAnswer& answer) {
  answer.start_unix_nano = range.from_unix_nano - range.from_unix_nano % answer.step_nano;
  answer.columns = ceil_div(range.to_unix_nano - answer.start_unix_nano, answer.step_nano);
}

Result<bool> counts_one_by_one(store::SpanStore& store, const store::Filter& filter, store::QueryBudget& budget) {
  if (!filter.where.empty() || filter.errors) return true;
  auto spans = store.spans_at_most(filter.range, budget);
  if (!spans) return spans.error();
  return *spans <= kMostCountedOneByOne;
}

}  // namespace

uint64_t heatmap_step_nano(uint64_t width_nano, uint64_t columns) {
  uint64_t least = std::max<uint64_t>(1, ceil_div(width_nano, columns));
  if (least <= kNanosPerSecond / 2) return round_below_a_second(least);
  uint64_t seconds = ceil_div(least, kNanosPerSecond);
  auto round = std::lower_bound(kRoundSeconds.begin(), kRoundSeconds.end(), seconds);
  if (round != kRoundSeconds.end()) return *round * kNanosPerSecond;
  return ceil_div(seconds, kRoundSeconds.back()) * kRoundSeconds.back() * kNanosPerSecond;
}

Result<HeatmapAnswer> run_heatmap(store::SpanStore& store, const HeatmapQuery& query, uint64_t now_unix_nano,
                                  store::QueryBudget& budget) {
  store::Filter filter = query.filter;
  store::TimeRange& range = filter.range;
  if (range.from_unix_nano == 0) return invalid("a heatmap needs a begin: give 'from' or 'since'");
  if (range.to_unix_nano == UINT64_MAX) range.to_unix_nano = std::max(now_unix_nano, range.from_unix_nano);
  HeatmapAnswer answer;
  answer.step_nano =
      heatmap_step_nano(range.to_unix_nano - std::min(range.from_unix_nano, range.to_unix_nano), query.columns);
  if (range.to_unix_nano <= range.from_unix_nano) return answer;
  Result<bool> one_by_one = counts_one_by_one(store, filter, budget);
  if (!one_by_one) return one_by_one.error();
  if (!*one_by_one) answer.step_nano = std::max(answer.step_nano, kNanosPerMinute);
  place_columns(range, answer);
  Grid grid(answer.columns);
  if (Result<> paid = budget.spend(grid.bytes()); !paid) return paid.error();
  Result<> done =
      *one_by_one ? count_spans(store, filter, grid, answer, budget) : add_minutes(store, filter, grid, answer, budget);
  if (!done) return done.error();
  grid.bin(query.rows, answer);
  return answer;
}

std::string to_json(const HeatmapAnswer& answer) {
  std::string out;
  net::JsonWriter json(out);
  json.begin_object();
  json.member("start_time_unix_nano", std::string_view(std::to_string(answer.start_unix_nano)));
  json.member("step_nano", answer.step_nano).member("columns", answer.columns);
  json.key("row_bounds_nano").begin_array();
  for (uint64_t bound : answer.row_bounds_nano) json.number(bound);
  json.end_array().key("cells").begin_array();
  for (const HeatmapBin& bin : answer.bins) {
    json.begin_array().number(bin.column).number(bin.row).number(bin.spans).number(bin.errors).end_array();
  }
  json.end_array().member("spans", answer.spans).member("errors", answer.errors).member("max_nano", answer.max_nano);
  json.member("errors_exact", answer.errors_exact).end_object();
  return out += "\n";
}

}  // namespace fathom::query

// The heatmap: how long spans lasted over time, binned for a picture; docs/api.md describes it.
//
// Purpose: a page draws what is visible, so it gets cells and not spans. Spans are counted one by one where the range
// holds few enough, or conditions ask for it; else minutes of the latency index are added up. Thread safety: plain
// functions. Units: in names. Errors: as the store's; kInvalid for a range without a begin.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "store/span_store.h"

namespace fathom::query {

inline constexpr uint64_t kDefaultColumns = 240;
inline constexpr uint64_t kMaxColumns = 1000;
inline constexpr uint64_t kDefaultBins = 48;
inline constexpr uint64_t kMaxBins = 400;

struct HeatmapQuery {
  store::Filter filter;
  uint64_t columns = kDefaultColumns;  // about
  uint64_t rows = kDefaultBins;        // about
};

struct HeatmapBin {
  uint64_t column = 0;
  uint64_t row = 0;
  uint64_t spans = 0;
  uint64_t errors = 0;
};

struct HeatmapAnswer {
  uint64_t start_unix_nano = 0;
  uint64_t step_nano = 0;
  uint64_t columns = 0;
  std::vector<uint64_t> row_bounds_nano;  // one more than rows
  std::vector<HeatmapBin> bins;           // by column, then row
  uint64_t spans = 0;
  uint64_t errors = 0;
  uint64_t max_nano = 0;
  bool errors_exact = true;
};

// A round length of time that cuts `width_nano` into at most `columns`, and some more at its edges.
uint64_t heatmap_step_nano(uint64_t width_nano, uint64_t columns);

Result<HeatmapAnswer> run_heatmap(store::SpanStore& store, const HeatmapQuery& query, uint64_t now_unix_nano,
                                  store::QueryBudget& budget);

std::string to_json(const HeatmapAnswer& answer);

}  // namespace fathom::query

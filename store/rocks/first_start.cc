// The part of Statistics that finds the earliest start in a range: most blocks are passed by for what their zones say.
#include <algorithm>

#include "store/rocks/statistics.h"

namespace fathom::store {

Result<std::optional<uint64_t>> Statistics::first_start(const TimeRange& range) {
  uint64_t first = range.to_unix_nano;
  for (const SegmentInfoPtr& segment : view_->segments) {
    if (!segment->touches({range.from_unix_nano, first})) continue;
    Result<> looked = first_start_in(*segment, range, first);
    sealed_.close(segment->id);
    if (!looked && looked.error().code != ErrorCode::kNotFound) return looked.error();
  }
  for (const auto& generation : view_->generations) {
    if (Result<> alive = budget_.check(); !alive) return alive.error();
    auto lock = generation->read();
    for (const Generation::Row& row : generation->rows()) {
      if (range.contains(row.start_unix_nano)) first = std::min(first, row.start_unix_nano);
    }
  }
  return first < range.to_unix_nano ? std::optional(first) : std::nullopt;
}

Result<> Statistics::first_start_in(const SegmentInfo& info, const TimeRange& range, uint64_t& first) {
  if (Result<> alive = budget_.check(); !alive) return alive;
  Result<SegmentReader*> reader = sealed_.segment(info);
  if (!reader) return reader.error();
  const SegmentDirectory& directory = (*reader)->directory();
  for (uint32_t block = 0; block < directory.block_count(); ++block) {
    const BlockZone& zone = directory.zone(block);
    if (zone.min_start_unix_nano >= first || zone.max_start_unix_nano < range.from_unix_nano) continue;
    if (zone.min_start_unix_nano >= range.from_unix_nano) {
      first = zone.min_start_unix_nano;
      continue;
    }
    Result<BlockTimes> times = (*reader)->times(block);
    if (!times) return times.error();
    for (uint64_t start : times->start_unix_nano) {
      if (range.contains(start)) first = std::min(first, start);
    }
  }
  return {};
}

}  // namespace fathom::store

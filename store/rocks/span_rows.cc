#include "store/rocks/span_rows.h"

namespace fathom::store {

namespace {

Filter attributes_of(const Filter& filter) {
  Filter attributes;
  attributes.where = filter.where;
  return attributes;
}

}  // namespace

SpanRows::SpanRows(const Filter& filter, const Catalogue& catalogue)
    : filter_(filter),
      attributes_(attributes_of(filter)),
      matcher_(filter, catalogue),
      by_attributes_(attributes_, catalogue) {}

bool SpanRows::bounds_hold(uint64_t start_unix_nano, uint64_t duration_nano) const {
  return filter_.range.contains(start_unix_nano) && duration_nano >= filter_.min_duration_nano &&
         duration_nano <= filter_.max_duration_nano;
}

bool SpanRows::may_match(const BlockZone& zone) const {
  return zone.max_span_duration_nano >= filter_.min_duration_nano &&
         zone.max_start_unix_nano >= filter_.range.from_unix_nano &&
         zone.min_start_unix_nano < filter_.range.to_unix_nano && matcher_.may_match(zone);
}

bool SpanRows::all_match(const BlockZone& zone) const {
  return matcher_.everything() && filter_.min_duration_nano == 0 &&
         zone.max_span_duration_nano <= filter_.max_duration_nano && filter_.range.contains(zone.min_start_unix_nano) &&
         filter_.range.contains(zone.max_start_unix_nano);
}

Result<MatchedRows> SpanRows::of_block(SegmentReader& reader, uint32_t block) const {
  MatchedRows matched;
  if (filter_.where.empty()) {
    matched.rows = all_rows(reader.directory().zone(block).rows);
  } else {
    Result<std::vector<uint32_t>> rows = by_attributes_.rows(reader, block);
    if (!rows) return rows.error();
    if (rows->empty()) return matched;
    matched.rows = std::move(*rows);
  }
  Result<BlockTimes> times = reader.times(block);
  if (!times) return times.error();
  matched.times = std::move(*times);
  const BlockTimes& all = matched.times;
  std::erase_if(matched.rows, [&](uint32_t row) {
    if (row >= all.start_unix_nano.size()) return true;
    return !bounds_hold(all.start_unix_nano[row], all.duration_nano[row]) || (filter_.errors && all.error[row] == 0) ||
           !matcher_.operation_matches(all.operation[row]);
  });
  return matched;
}

bool SpanRows::matches(const Generation& generation, const Generation::Row& row) {
  return bounds_hold(row.start_unix_nano, row.duration_nano) && matcher_.row_matches(generation, row);
}

}  // namespace fathom::store

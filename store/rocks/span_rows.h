// SpanRows: which rows of a block, or of a generation, are spans that a filter means: by start, duration and
// conditions.
//
// Purpose: what scans and samples have in common. Thread safety: one query, one thread. Ownership: it points to the
// filter and the catalogue.
#pragma once

#include <vector>

#include "store/rocks/matcher.h"

namespace fathom::store {

struct MatchedRows {
  BlockTimes times;            // of the whole block
  std::vector<uint32_t> rows;  // that match, ascending
};

class SpanRows {
 public:
  SpanRows(const Filter& filter, const Catalogue& catalogue);

  // False: no stored operation can match, so nothing does.
  bool possible() const { return matcher_.possible(); }
  // False: what is known of a block without reading it says that no row matches.
  bool may_match(const BlockZone& zone) const;
  // The same says that every row does.
  bool all_match(const BlockZone& zone) const;
  Result<MatchedRows> of_block(SegmentReader& reader, uint32_t block) const;
  // In a generation that the caller holds still.
  bool matches(const Generation& generation, const Generation::Row& row);
  const TimeRange& range() const { return filter_.range; }

 private:
  bool bounds_hold(uint64_t start_unix_nano, uint64_t duration_nano) const;

  const Filter& filter_;
  Filter attributes_;  // the conditions on attributes alone
  Matcher matcher_;
  Matcher by_attributes_;
};

}  // namespace fathom::store

// Matcher: which rows meet a filter's conditions on spans (service, operation, errors, where).
//
// Purpose: the same conditions on rows in memory and on sealed columns, cheapest test first.
// Thread safety: one query, one thread. Ownership: it points to the filter and the catalogue.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "store/rocks/catalogue.h"
#include "store/rocks/generation.h"
#include "store/rocks/sealed.h"

namespace fathom::store {

std::vector<uint32_t> all_rows(uint32_t rows);  // 0 to rows - 1

class Matcher {
 public:
  Matcher(const Filter& filter, const Catalogue& catalogue);

  // False: no stored operation can match, so nothing does.
  bool possible() const { return !operations_ || !operations_->empty(); }
  bool everything() const { return !filter_.has_span_conditions(); }
  // Lists of the slowest answer for operations and services only.
  bool lists_apply() const { return filter_.where.empty() && !filter_.errors; }
  // Nothing: every operation matches.
  const std::optional<std::vector<uint32_t>>& operations() const { return operations_; }
  bool operation_matches(uint32_t operation) const;

  // False: the block's zone alone says that no row matches.
  bool may_match(const BlockZone& zone) const;

  // In a generation that the caller holds still.
  bool row_matches(const Generation& generation, const Generation::Row& row);
  // Of a trace's rows that were received by then.
  bool any_row(const Generation& generation, const Generation::Trace& trace, uint64_t last_sequence);

  // Which traces of a sealed block may match, as far as its filter and its directory say.
  Result<FilterHalves> may_match(SegmentReader& reader, uint32_t block) const;
  // Rows of a sealed block that match, ascending.
  Result<std::vector<uint32_t>> rows(SegmentReader& reader, uint32_t block) const;
  // The same, remembered: for questions about single traces, many of which lie in the same few blocks.
  Result<const std::vector<uint32_t>*> remembered_rows(SegmentReader& reader, uint32_t segment, uint32_t block);

 private:
  // Rows that meet one condition of `where`, ascending; those that have its value, by any of its spellings.
  static Result<std::vector<uint32_t>> rows_with(SegmentReader& reader, uint32_t block, const Condition& condition);
  static Result<std::vector<uint32_t>> rows_equal(SegmentReader& reader, uint32_t block, const Condition& condition);
  static Result<FilterHalves> may_meet(SegmentReader& reader, uint32_t block, const Condition& condition);
  Result<std::vector<uint32_t>> by_times(SegmentReader& reader, uint32_t block, std::vector<uint32_t> rows) const;
  bool all_operations_match(const BlockZone& zone) const;

  const Filter& filter_;
  std::optional<std::vector<uint32_t>> operations_;  // ascending
  static constexpr size_t kRememberedRows = 1 << 20;
  std::map<std::pair<uint32_t, uint32_t>, std::vector<uint32_t>> remembered_;  // by (segment, block)
  size_t remembered_rows_ = 0;
  Batch::Scratch scratch_;
};

}  // namespace fathom::store

// The part of Search that begins from traces that the filter names: they are few beside all, so each is looked up
// wherever it stands, as it was at the question's moment, and nothing else is read.
#include <algorithm>

#include "store/rocks/search.h"
#include "store/rocks/search_best.h"

namespace fathom::store {

Result<> Search::begin_named() {
  if (by_ == By::kTrace) return push_as_it_was(TraceIds(filter_.traces->begin(), filter_.traces->end()));
  Node spans;
  spans.kind = Kind::kNamedScan;
  spans.bound = first_possible();
  heap_.push(std::move(spans));
  return {};
}

Result<> Search::scan_named(const Node& node) {
  Best best = make_best(node.bound);
  const LeastDuration least = [&] { return order_ == SearchOrder::kSlowest ? best.least() : 0; };
  const VisitEntry offer = [&](const SlowEntry& entry) {
    offer_span(entry, best);
    return true;
  };
  for (const TraceId& id : *filter_.traces) {
    if (Result<> alive = budget_.check(); !alive) return alive;
    Result<> scanned = each_match(id, least, offer);
    if (!scanned && scanned.error().code != ErrorCode::kNotFound) return scanned;
  }
  finish_scan(best, Kind::kNamedScan, node);
  return {};
}

Result<> Search::each_match(const TraceId& id, const LeastDuration& least_nano, const VisitEntry& visit) {
  bool more = true;
  for (const auto& generation : view_->generations) {
    auto lock = generation->read();
    const Generation::Trace* trace = generation->find(id);
    if (trace == nullptr) continue;
    generation->for_each_row(*trace, [&](const Generation::Row& row, uint32_t) {
      const SlowEntry entry = entry_of(*generation, row);
      if (more && fits(entry) && matcher_.row_matches(*generation, row)) more = visit(entry);
    });
  }
  size_t parts = 0;
  return sealed_.visit_parts(id, [&](const TracePart& part) -> Result<bool> {
    Result<LocatedPart> located = sealed_.locate(id, part);
    if (!located) return located.error();
    for (const RowRange& range : located->ranges) {
      if (!more) return false;
      if (located->reader->directory().zone(range.block).max_span_duration_nano < least_nano()) continue;
      Result<bool> scanned = each_match(id, *located->reader, part.segment, range, visit);
      if (!scanned) return scanned;
      more = *scanned;
    }
    if (++parts > kPartsKeptOpen) sealed_.close(part.segment);
    return more;
  });
}

Result<bool> Search::each_match(const TraceId& id, SegmentReader& reader, uint32_t segment, const RowRange& range,
                                const VisitEntry& visit) {
  if (Result<> alive = budget_.check(); !alive) return alive.error();
  Result<const std::vector<uint32_t>*> rows = matcher_.remembered_rows(reader, segment, range.block);
  if (!rows) return rows.error();
  auto row = std::lower_bound((*rows)->begin(), (*rows)->end(), range.first_row);
  if (row == (*rows)->end() || *row - range.first_row >= range.row_count) return true;
  Result<BlockTimes> times = reader.times(range.block);
  if (!times) return times.error();
  Result<BlockIds> ids = reader.ids(range.block);
  if (!ids) return ids.error();
  for (; row != (*rows)->end() && *row - range.first_row < range.row_count; ++row) {
    if (*row >= ids->span.size() || *row >= times->duration_nano.size()) return corrupt("a block's columns disagree");
    const SlowEntry entry = entry_of(id, *ids, *times, *row);
    if (fits(entry) && !visit(entry)) return false;
  }
  return true;
}

}  // namespace fathom::store

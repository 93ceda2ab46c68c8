// The part of Search that reads rows: blocks of sealed segments, newest first, and generations in memory.
#include <algorithm>

#include "store/rocks/search.h"
#include "store/rocks/search_best.h"

namespace fathom::store {

namespace {

bool touches(const std::vector<TimeRange>& ranges, uint64_t first, uint64_t last) {
  return std::any_of(ranges.begin(), ranges.end(), [&](const TimeRange& range) {
    return last >= range.from_unix_nano && first < range.to_unix_nano;
  });
}

}  // namespace

bool Search::contains(const std::vector<TimeRange>& ranges, uint64_t at) {
  return std::any_of(ranges.begin(), ranges.end(), [at](const TimeRange& range) { return range.contains(at); });
}

void Search::finish_scan(Best& best, Kind kind, const Node& node) {
  for (const Best::Found& found : best.finish()) push_candidate(found.entry, found.check);
  if (!best.truncated()) return;
  Node rest;
  rest.kind = kind;
  rest.bound = best.finish().back().rank;
  rest.ranges = node.ranges;
  rest.again = true;
  rest.rest = node.rest;
  heap_.push(std::move(rest));
}

// The slowest of many that match are mostly in blocks of which a slow trace matches. So those are scanned first; the
// others wait in the heap, behind what can be no faster than they are, and are mostly never read.
Result<> Search::scan_blocks(const Node& node) {
  Best best = make_best(node.bound);
  BlockScan scan{node, best, {}};
  newer_.clear();
  for (auto it = view_->segments.rbegin(); it != view_->segments.rend(); ++it) {
    const SegmentInfo& info = **it;
    if (!touches(node.ranges, info.min_start_unix_nano, info.max_start_unix_nano)) continue;
    Result<> scanned = scan_segment(info, scan);
    sealed_.close(info.id);  // a long scan must not keep what it decoded of every segment
    if (!scanned && scanned.error().code != ErrorCode::kNotFound) return scanned;
  }
  finish_scan(best, Kind::kBlockScan, node);
  if (node.again || node.rest) return {};
  leave_rest(scan);
  if (by_ == By::kTrace && !matcher_.everything()) push_grown_unmatched(node.ranges);
  return {};
}

void Search::leave_rest(const BlockScan& scan) {
  if (!scan.left_below_nano || *scan.left_below_nano <= filter_.min_duration_nano) return;
  Node rest = scan.node;
  rest.rest = true;
  // Traces that have grown slower since come from push_grown_unmatched().
  if (SortKey bound = floor_bound(*scan.left_below_nano); slower(rest.bound, bound)) rest.bound = bound;
  heap_.push(std::move(rest));
}

Result<bool> Search::is_for(BlockScan& scan, SegmentReader& reader, uint32_t block) const {
  if (matcher_.everything()) return true;
  Result<FilterHalves> may_match = matcher_.may_match(reader, block);
  if (!may_match) return may_match.error();
  if (order_ == SearchOrder::kNewest) return may_match->any();
  if (scan.node.rest) return may_match->rest && !may_match->slow;
  uint64_t slow_nano = reader.directory().slow_trace_nano();
  if (may_match->rest && !may_match->slow) scan.left_below_nano = std::max(scan.left_below_nano.value_or(0), slow_nano);
  return may_match->slow;
}

Result<> Search::scan_segment(const SegmentInfo& info, BlockScan& scan) {
  if (Result<> alive = budget_.check(); !alive) return alive;
  Result<SegmentReader*> reader = sealed_.segment(info);
  if (!reader) return reader.error();
  const SegmentDirectory& directory = (*reader)->directory();
  const std::vector<TimeRange>& ranges = scan.node.ranges;
  for (uint32_t block = 0; block < directory.block_count(); ++block) {
    if (!block_may_help(directory.zone(block), ranges, scan.best)) continue;
    Result<bool> wanted = is_for(scan, **reader, block);
    if (!wanted) return wanted.error();
    if (!*wanted) continue;
    Result<> scanned = by_ == By::kTrace ? scan_block_traces(**reader, block, ranges, scan.best)
                                         : scan_block_spans(**reader, block, ranges, scan.best);
    if (!scanned) return scanned;
  }
  return by_ == By::kTrace ? learn_grown(info) : Result<>();
}

// Segments come newest first: what this one says of its grown traces holds against every older one.
Result<> Search::learn_grown(const SegmentInfo& info) {
  Result<GrownPtr> list = grown(info);
  if (!list) return list.error();
  if (!(*list)->traces().empty()) newer_.push_back(std::move(*list));
  return {};
}

const TraceSummary& Search::newest_summary(const BlockTrace& trace) const {
  for (const GrownPtr& grown : newer_) {
    if (const GrownTrace* found = grown->find(trace.id)) return found->summary;
  }
  return trace.summary;
}

bool Search::block_may_help(const BlockZone& zone, const std::vector<TimeRange>& ranges, const Best& best) const {
  bool traces = by_ == By::kTrace;
  uint64_t longest = traces ? zone.max_trace_duration_nano : zone.max_span_duration_nano;
  uint64_t first = traces ? zone.min_trace_start_unix_nano : zone.min_start_unix_nano;
  uint64_t last = traces ? zone.max_trace_start_unix_nano : zone.max_start_unix_nano;
  if (longest < filter_.min_duration_nano || !touches(ranges, first, last)) return false;
  uint64_t leading = order_ == SearchOrder::kSlowest ? longest : last;
  return !best.too_late(leading);
}

Result<> Search::scan_block_traces(SegmentReader& reader, uint32_t block, const std::vector<TimeRange>& ranges,
                                   Best& best) {
  std::vector<uint32_t> rows;
  if (!matcher_.everything()) {
    Result<std::vector<uint32_t>> matched = matcher_.rows(reader, block);
    if (!matched) return matched.error();
    if (matched->empty()) return {};
    rows = std::move(*matched);
  }
  Result<std::span<const BlockTrace>> traces = reader.traces(block);
  if (!traces) return traces.error();
  size_t next_row = 0;
  for (const BlockTrace& trace : *traces) {
    bool matches = matcher_.everything();
    if (!matches) {
      while (next_row < rows.size() && rows[next_row] < trace.first_row) ++next_row;
      matches = next_row < rows.size() && rows[next_row] - trace.first_row < trace.row_count;
    }
    const TraceSummary& newest = newest_summary(trace);
    if (!matches || trace.summary.oversized || newest.oversized) continue;
    SlowEntry entry = entry_of(trace.id, newest);
    if (contains(ranges, entry.start_unix_nano) && in_bounds(entry)) best.add(rank(entry), entry, false);
  }
  return {};
}

Result<> Search::scan_block_spans(SegmentReader& reader, uint32_t block, const std::vector<TimeRange>& ranges,
                                  Best& best) {
  Result<std::vector<uint32_t>> matched = matcher_.rows(reader, block);
  if (!matched) return matched.error();
  if (matched->empty()) return {};
  Result<BlockTimes> times = reader.times(block);
  if (!times) return times.error();
  Result<BlockIds> ids = reader.ids(block);
  if (!ids) return ids.error();
  Result<std::span<const BlockTrace>> traces = reader.traces(block);
  if (!traces) return traces.error();
  if (traces->empty() || ids->span.size() != times->duration_nano.size()) return corrupt("a block's columns disagree");
  size_t trace = 0;
  for (uint32_t row : *matched) {
    if (row >= ids->span.size()) return corrupt("a block's columns disagree");
    while (trace + 1 < traces->size() && row - (*traces)[trace].first_row >= (*traces)[trace].row_count) ++trace;
    SlowEntry entry = entry_of((*traces)[trace].id, *ids, *times, row);
    if (contains(ranges, entry.start_unix_nano)) offer_span(entry, best);
  }
  return {};
}

Result<> Search::scan_memory(const Node& node) {
  Best best = make_best(node.bound);
  TraceIds grown;
  for (size_t i = 0; i < view_->generations.size(); ++i) {
    if (Result<> alive = budget_.check(); !alive) return alive;
    const Generation& generation = *view_->generations[i];
    auto lock = generation.read();
    // These stand elsewhere than the generation knows.
    if (by_ == By::kTrace) grown.insert(generation.failed_lookups().begin(), generation.failed_lookups().end());
    if (!touches({filter_.range}, generation.min_start_unix_nano(), generation.max_start_unix_nano())) continue;
    if (by_ == By::kTrace) {
      scan_generation_traces(generation, i, best);
    } else {
      scan_generation_spans(generation, best);
    }
  }
  finish_scan(best, Kind::kMemoryScan, node);
  return push_as_it_was(grown);
}

void Search::scan_generation_traces(const Generation& generation, size_t position, Best& best) {
  auto known_later = [&](const TraceId& id) {
    for (size_t later = position + 1; later < view_->generations.size(); ++later) {
      const Generation& newer = *view_->generations[later];
      auto lock = newer.read();
      const Generation::Trace* trace = newer.find(id);
      if (trace != nullptr && newer.bounds(*trace, as_of_sequence_)) return true;
    }
    return false;
  };
  for (const Generation::Trace& trace : generation.traces()) {
    const std::optional<TraceBounds> bounds = generation.bounds(trace, as_of_sequence_);
    if (!bounds) continue;
    const SlowEntry entry = entry_of(trace.id, *bounds);
    if (!in_bounds(entry) || !best.may_keep(rank(entry))) continue;
    bool matches = matcher_.everything() || matcher_.any_row(generation, trace, UINT64_MAX);
    if (!matches && !trace.grown) continue;
    if (known_later(trace.id)) continue;
    best.add(rank(entry), entry, !matches);
  }
}

void Search::scan_generation_spans(const Generation& generation, Best& best) {
  auto leading = [this](const Generation::Row& row) {
    return order_ == SearchOrder::kSlowest ? row.duration_nano : row.start_unix_nano;
  };
  for (const Generation::Row& row : generation.rows()) {
    if (!filter_.range.contains(row.start_unix_nano) || best.too_late(leading(row))) continue;
    SlowEntry entry = entry_of(generation, row);
    if (!fits(entry) || (is_of_this_page(entry) ? !best.may_keep(rank(entry)) : !once_)) continue;
    if (matcher_.everything() || matcher_.row_matches(generation, row)) offer_span(entry, best);
  }
}

}  // namespace fathom::store

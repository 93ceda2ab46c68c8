// The part of Search that keeps an answer true to one moment: traces that grew since stand elsewhere in lists and
// blocks by now. Those that stand outside the question, where nothing else would meet them, are brought back here to
// the place where they were then; the others are corrected when their turn comes (consider_trace). And the part that
// keeps it whole: traces that grew before stand in their older blocks as they were, so those blocks may be skipped
// though the trace as it is now is asked for.
#include <algorithm>
#include <utility>

#include "store/rocks/search.h"

namespace fathom::store {

// A trace only grows: then it ended no later and began no earlier than now, and took no longer.
bool Search::may_have_been_in_bounds(const SlowEntry& entry) const {
  return entry.first_sequence <= as_of_sequence_ && entry.duration_nano >= filter_.min_duration_nano &&
         entry.start_unix_nano < filter_.range.to_unix_nano &&
         end_of(entry.start_unix_nano, entry.duration_nano) >= filter_.range.from_unix_nano;
}

Result<> Search::push_grown() {
  TraceIds ids;
  for (auto it = view_->segments.rbegin(); it != view_->segments.rend(); ++it) {
    if ((*it)->last_sequence <= as_of_sequence_) break;
    Result<> collected = collect_grown(**it, ids);
    if (!collected && collected.error().code != ErrorCode::kNotFound) return collected;
  }
  return push_as_it_was(ids);
}

// No list and no block gives these. What is known of them tells where nearly all of them stand, without a look at the
// trace itself: only rows in memory can outdate a summary of some time ago.
Result<> Search::push_oversized() {
  TraceIds ids;
  const std::shared_ptr<const OversizedTraces::Map> known = engine_.oversized.get();
  for (const auto& [id, entry] : *known) {
    if (Result<> alive = budget_.spend(std::exchange(unpaid_bytes_, 0)); !alive) return alive;
    if (!entry.is_known() || entry.last_sequence > as_of_sequence_) {
      ids.insert(id);
      continue;
    }
    // A trace only grows.
    const bool too_long = entry.summary.duration_nano > filter_.max_duration_nano;
    const bool too_early = entry.summary.start_unix_nano < filter_.range.from_unix_nano;
    if (too_long || too_early) continue;
    push_candidate(unsealed_entry(id).value_or(entry_of(id, entry.summary)), true);
  }
  return push_as_it_was(ids);
}

// Where the newest rows in memory put the trace at the search's moment; nothing if it had none then.
std::optional<SlowEntry> Search::unsealed_entry(const TraceId& id) const {
  for (auto it = view_->generations.rbegin(); it != view_->generations.rend(); ++it) {
    auto lock = (*it)->read();
    const Generation::Trace* trace = (*it)->find(id);
    if (trace == nullptr) continue;
    if (auto bounds = (*it)->bounds(*trace, as_of_sequence_)) return entry_of(id, *bounds);
  }
  return std::nullopt;
}

Result<> Search::collect_grown(const SegmentInfo& info, TraceIds& ids) {
  auto take = [&](const TraceId& id, const TraceSummary& summary) {
    SlowEntry entry = entry_of(id, summary);
    if (!in_bounds(entry) && may_have_been_in_bounds(entry)) ids.insert(id);
  };
  Result<GrownPtr> list = grown(info);
  if (!list) return list.error();
  for (const GrownTrace& trace : (*list)->traces()) take(trace.id, trace.summary);
  if (info.first_sequence > as_of_sequence_) return {};
  // The moment lies within this segment: traces may have grown inside it.
  Result<SegmentReader*> reader = sealed_.segment(info);
  if (!reader) return reader.error();
  for (uint32_t block = 0; block < (*reader)->directory().block_count(); ++block) {
    if (Result<> alive = budget_.check(); !alive) return alive;
    Result<std::span<const BlockTrace>> traces = (*reader)->traces(block);
    if (!traces) return traces.error();
    for (const BlockTrace& trace : *traces) take(trace.id, trace.summary);
  }
  return {};
}

Result<> Search::push_as_it_was(const TraceIds& ids) {
  for (const TraceId& id : ids) {
    if (Result<> alive = budget_.check(); !alive) return alive;
    Result<std::optional<TraceSummary>> was = traces_.summary(id);
    if (!was) return was.error();
    if (*was) push_candidate(entry_of(id, **was), true);
  }
  return {};
}

Result<Search::GrownPtr> Search::grown(const SegmentInfo& info) {
  GrownPtr& known = grown_[info.id];
  if (!known) {
    Result<GrownTraces> read = sealed_.grown(info);
    if (!read) return read.error();
    known = std::make_shared<const GrownTraces>(std::move(*read));
  }
  return known;
}

// Of every grown trace that the last scan came by, wherever it stands now: whether an older part of it matches is found
// out when its turn comes, which is seldom.
void Search::push_grown_unmatched(const std::vector<TimeRange>& ranges) {
  TraceIds known;
  for (const GrownPtr& list : newer_) {
    for (const GrownTrace& trace : list->traces()) {
      if (trace.summary.oversized || !known.insert(trace.id).second) continue;
      SlowEntry entry = entry_of(trace.id, trace.summary);
      if (contains(ranges, entry.start_unix_nano)) push_candidate(entry, true, list);
    }
  }
}

// Without a look at the trace itself, which most of these do not deserve.
Result<bool> Search::older_may_match(const Node& node) {
  if (!node.grown || !node.grown->places_known()) return true;
  for (const OlderPlace& place : node.grown->places(*node.grown->find(node.entry.trace_id))) {
    Result<bool> may_match = place_may_match(place);
    if (!may_match || *may_match) return may_match;
  }
  return false;
}

Result<bool> Search::place_may_match(const OlderPlace& place) {
  Result<SegmentReader*> reader = sealed_.segment(place.partition, place.segment);
  if (!reader && reader.error().code == ErrorCode::kNotFound) return false;  // dropped by retention
  if (!reader) return reader.error();
  if (place.rows.block >= (*reader)->directory().block_count()) return corrupt("a list of grown traces is damaged");
  Result<const std::vector<uint32_t>*> rows = matcher_.remembered_rows(**reader, place.segment, place.rows.block);
  if (!rows) return rows.error();
  auto row = std::lower_bound((*rows)->begin(), (*rows)->end(), place.rows.first_row);
  return row != (*rows)->end() && *row - place.rows.first_row < place.rows.row_count;
}

}  // namespace fathom::store

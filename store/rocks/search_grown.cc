// The part of Search that keeps an answer true to one moment: traces that grew since stand elsewhere in lists, blocks
// and memory by now. Those that stand outside the question, where nothing else would meet them, are brought back here
// to the place where they were then; the others are corrected when their turn comes (consider_trace).
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

Result<> Search::collect_grown(const SegmentInfo& info, TraceIds& ids) {
  auto take = [&](const TraceId& id, const TraceSummary& summary) {
    SlowEntry entry = entry_of(id, summary);
    if (!in_bounds(entry) && may_have_been_in_bounds(entry)) ids.insert(id);
  };
  Result<GrownTraces> grown = sealed_.grown(info);
  if (!grown) return grown.error();
  for (const auto& [id, summary] : *grown) take(id, summary);
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

// In a generation that the caller holds still. Its rows stand in the order of reception. What its scan from `bound` on
// finds by itself is left out.
void Search::collect_grown(const Generation& generation, const SortKey& bound, TraceIds& ids) const {
  for (auto row = generation.rows().rbegin(); row != generation.rows().rend(); ++row) {
    if (generation.sequence(*row) <= as_of_sequence_) break;
    const Generation::Trace& trace = generation.traces()[row->trace];
    SlowEntry entry = entry_of(trace);
    bool found_by_scan = in_bounds(entry) && slower(bound, rank(entry));
    if (!found_by_scan && may_have_been_in_bounds(entry)) ids.insert(trace.id);
  }
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

}  // namespace fathom::store

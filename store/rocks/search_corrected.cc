// The part of Search that finds traces which retention shortened: lists and blocks still have their old places.
#include "store/rocks/scan_options.h"
#include "store/rocks/search.h"
#include "store/rocks/search_best.h"

namespace fathom::store {

// No correction of this scan comes before its bound, so that a search which ends earlier reads none.
void Search::push_corrected_scan(Kind kind, uint64_t longest_nano) {
  Node node;
  node.kind = kind;
  node.bound = first_possible();
  const SortKey bound = floor_bound(longest_nano);
  if (order_ == SearchOrder::kSlowest && slower(node.bound, bound)) node.bound = bound;
  heap_.push(std::move(node));
}

void Search::push_corrected() {
  const std::vector<Corrections::Entry>& entries = view_->corrections->in_memory();
  if (!entries.empty()) push_corrected_scan(Kind::kCorrectedScan, entries.front().summary.duration_nano);
  if (view_->corrections->all_in_memory()) return;
  push_corrected_scan(Kind::kCorrectedRowScan, entries.empty() ? UINT64_MAX : entries.back().summary.duration_nano);
}

void Search::offer_corrected(const TraceId& id, const TraceSummary& summary, Best& best) const {
  const SlowEntry entry = entry_of(id, summary);
  if (in_bounds(entry)) best.add(rank(entry), entry, !matcher_.everything());
}

Result<> Search::scan_corrected(const Node& node) {
  Best best = make_best(node.bound);
  for (const Corrections::Entry& entry : view_->corrections->in_memory()) {
    if (order_ == SearchOrder::kSlowest && best.too_late(entry.summary.duration_nano)) break;
    offer_corrected(entry.id, entry.summary, best);
  }
  finish_scan(best, Kind::kCorrectedScan, node);
  return {};
}

// Rows that do not decode were counted when retention or the start read them.
Result<> Search::scan_corrected_rows(const Node& node) {
  Best best = make_best(node.bound);
  Database& database = *engine_.database;
  rocksdb::ReadOptions options = scan_options();
  options.snapshot = view_->snapshot.get();
  std::unique_ptr<rocksdb::Iterator> rows(database.db().NewIterator(options, database.family(Family::kCorrected)));
  for (rows->Seek(keys::partition(engine_.live->oldest())); rows->Valid(); rows->Next()) {
    if (Result<> paid = budget_.spend(rows->value().size()); !paid) return paid;
    const std::optional<TraceId> id = keys::straddle_trace(rows->key().ToStringView());
    Result<TracePart> part = decode_trace_part_value(rows->value().ToStringView());
    // push_oversized() has the oversized traces, which have rows in this family, too.
    if (id && part && !part->summary.oversized) offer_corrected(*id, part->summary, best);
  }
  if (!rows->status().ok()) return from_status(rows->status(), "read corrected traces");
  finish_scan(best, Kind::kCorrectedRowScan, node);
  return {};
}

}  // namespace fathom::store

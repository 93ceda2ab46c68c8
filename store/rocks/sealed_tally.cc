#include "store/rocks/sealed_tally.h"

namespace fathom::store {

namespace {

Result<TraceTally> tally_of_rows(SealedReader& sealed, const TraceId& id, const TracePart& part,
                                 uint64_t last_sequence) {
  Result<std::vector<TraceRow>> rows = sealed.rows(id, part);
  sealed.close(part.segment);  // many segments may follow, and each would stay in memory
  if (!rows) return rows.error();
  TraceTally tally;
  for (const TraceRow& row : *rows) {
    if (row.sequence <= last_sequence) tally.add(row);
  }
  return tally;
}

class PartAdder {
 public:
  PartAdder(SealedReader& sealed, const TraceId& id, uint64_t last_sequence)
      : sealed_(sealed), id_(id), last_sequence_(last_sequence) {}

  // False: everything older is in the tally by now.
  Result<bool> add(const TracePart& part) {
    SegmentInfoPtr segment = sealed_.view().segment(part.segment);
    if (segment && segment->first_sequence > last_sequence_) return true;
    if (segment && segment->last_sequence > last_sequence_) {
      return add(tally_of_rows(sealed_, id_, part, last_sequence_));
    }
    if (part.tallies && sealed_.is_live(part.tallies->first_partition)) {
      tally_.add(part.tallies->whole);
      return false;
    }
    return add(tally_of_part(sealed_, id_, part));
  }
  const TraceTally& tally() const { return tally_; }

 private:
  Result<bool> add(const Result<TraceTally>& own) {
    if (!own) return own.error();
    tally_.add(*own);
    return true;
  }

  SealedReader& sealed_;
  const TraceId& id_;
  const uint64_t last_sequence_;
  TraceTally tally_;
};

}  // namespace

Result<TraceTally> tally_of_part(SealedReader& sealed, const TraceId& id, const TracePart& part) {
  if (part.tallies) return part.tallies->own;
  return tally_of_rows(sealed, id, part, UINT64_MAX);
}

Result<TraceTally> sealed_tally(SealedReader& sealed, const TraceId& id, uint64_t last_sequence) {
  PartAdder parts(sealed, id, last_sequence);
  Result<> visited = sealed.visit_parts(id, [&](const TracePart& part) { return parts.add(part); });
  if (!visited) return visited.error();
  return parts.tally();
}

}  // namespace fathom::store

// Pages of an oversized trace: its segments one by one, then its unsealed spans. One page at a time is in memory.
//
// Purpose: a trace of any size can be read. Rows that are sealed together, or will be, form a unit; units follow one
// another by reception, and within one rows stand by start, span id and reception, before and after it is sealed. So a
// cursor stays valid while the store seals. A start may divide unsealed rows into other units, because the limits of
// a generation were changed or because sealing began before. A cursor therefore names its unit's first and last
// sequence, and is rejected if there is another unit in its place. Thread safety: one query, one thread. Ownership: a
// page owns what its views point into. Memory: the query's budget pays for the page, and for one part at a time.
// Errors: as SealedReader's, kExhausted, and kInvalid for such a cursor.
#pragma once

#include <optional>

#include "store/rocks/sealed.h"
#include "store/rocks/stored_spans.h"

namespace fathom::store {

// Of a cursor that this store cannot go on behind.
Error outdated_cursor(const TraceId& id);

class TracePages {
 public:
  // Rows that were received after `last_sequence` do not exist for it.
  TracePages(SealedReader& sealed, const Catalogue& catalogue, uint64_t last_sequence)
      : sealed_(sealed), spans_(catalogue, sealed.budget()), last_sequence_(last_sequence) {}

  // Without the facts of the whole trace: its id, spans and `next` alone.
  Result<StoredTrace> read(const TraceId& id, const std::optional<TraceCursor>& after, size_t limit);

 private:
  struct Key;
  // Rows that are sealed together, or will be, by the sequences of their batches up to last_sequence_.
  struct Unit {
    uint64_t first_sequence;
    uint64_t last_sequence;
  };
  Unit unit_of(const SegmentInfo& info) const;
  Unit unit_of(const Generation& generation) const;
  bool has_other_units() const;
  Result<> pay_for_spans(uint64_t spans);
  Result<> read_sealed(const TraceId& id);
  Result<> read_part(const TraceId& id, const TracePart& part, const Unit& unit);
  Result<> read_block(SegmentReader& reader, const RowRange& range, const Unit& unit);
  Result<> read_generation(const Generation& generation, const TraceId& id);
  bool is_wanted(const Key& key) const;
  bool is_full(const Key& next);

  SealedReader& sealed_;
  StoredSpans spans_;
  const uint64_t last_sequence_;
  std::optional<TraceCursor> after_;
  size_t limit_ = 0;
  StoredTrace page_;
  std::shared_ptr<HeldMemory> page_memory_;  // of the list of spans; the page owns it
  size_t taken_ = 0;
  std::optional<TraceCursor> last_;  // of the page
  bool full_ = false;                // and something follows
};

}  // namespace fathom::store

// Whole traces, from wherever their rows are: generations in memory and sealed segments.
//
// Purpose: trace(), and the truth about a trace that searches check their candidates against. A reader may look at the
// state that was: rows received after `last_sequence` do not exist for it. Thread safety: one query, one thread.
// Ownership: a StoredTrace owns what its views point into, and keeps its memory charged to the query.
#pragma once

#include <memory>
#include <optional>

#include "store/rocks/sealed.h"
#include "store/rocks/stored_spans.h"

namespace fathom::store {

class TraceReader {
 public:
  TraceReader(SealedReader& sealed, const Catalogue& catalogue, uint64_t last_sequence = UINT64_MAX)
      : sealed_(sealed),
        last_sequence_(last_sequence),
        items_memory_(sealed.budget().hold()),
        spans_(catalogue, sealed.budget()) {}

  // kNotFound when no span of the trace is stored. Not for oversized traces: see trace_pages.h.
  Result<StoredTrace> load(const TraceId& id);
  // Which of these are stored, the first `most` of them.
  Result<std::vector<TraceId>> ids(const TraceIdRange& range, size_t most);
  // The summary over all stored spans; nothing when there are none.
  Result<std::optional<TraceSummary>> summary(const TraceId& id);
  // The same for a page of any trace, without reading all of its rows at once. While some are not sealed, `complete` is
  // false, and the number of spans is an upper bound.
  Result<std::optional<TraceSummary>> page_summary(const TraceId& id);
  // Whether the trace passes the limits of span_store.h. Reads rows only while unsealed ones may make the difference.
  Result<bool> is_oversized(const TraceId& id);
  // False: is_oversized() is false, unless OversizedTraces has the trace or an older server sealed it.
  bool may_be_oversized(const TraceId& id) const { return rows_in_memory(id) > 0; }
  // Whether the trace has rows that do not exist for this reader.
  Result<bool> grew_later(const TraceId& id);

 private:
  struct Item;
  Result<> load_sealed(const TraceId& id, std::vector<Item>& items, StoredTrace& trace);
  Result<> load_memory(const TraceId& id, std::vector<Item>& items, StoredTrace& trace);
  Result<std::vector<Item>> load_items(const TraceId& id, uint64_t last_sequence, StoredTrace& trace);
  Result<> pay_for_items(uint64_t rows);
  Result<> pay_for_spans(uint64_t spans, StoredTrace& trace);
  Result<std::vector<TraceRow>> light_rows(const TraceId& id, uint64_t last_sequence);
  Result<std::optional<TraceSummary>> summary_of_rows(const TraceId& id);
  Result<TraceTally> oversized_tally(const TraceId& id);
  Result<std::optional<TraceSummary>> oversized_summary(const TraceId& id);
  std::optional<TraceSummary> with_unsealed(TraceTally tally, const TraceId& id) const;
  Result<std::optional<TraceSummary>> unsealed_summary(const TraceId& id);
  std::optional<TraceSummary> summary_of_large(const TraceId& id) const;
  Result<bool> passes_limit(const TraceId& id);
  Result<std::optional<TracePart>> newest_part(const TraceId& id);
  uint64_t rows_in_memory(const TraceId& id) const;
  bool sealed_later(const TracePart& part) const;

  SealedReader& sealed_;
  const uint64_t last_sequence_;
  HeldMemory items_memory_;  // of the rows that are being put together
  StoredSpans spans_;
  // The last answer of newest_part(): a search asks several things of a trace, and each would seek again.
  std::optional<TraceId> newest_part_of_;
  std::optional<TracePart> newest_part_;
  std::optional<TraceSummary> known_summary_;  // of the trace for which is_oversized() had to read rows
};

}  // namespace fathom::store

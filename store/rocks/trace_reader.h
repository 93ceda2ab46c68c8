// Whole traces, from wherever their rows are: generations in memory and sealed segments.
//
// Purpose: trace(), and the truth about a trace that searches check their candidates against. A reader may look at the
// state that was: rows received after `last_sequence` do not exist for it. Thread safety: one query, one thread.
// Ownership: a StoredTrace owns what its views point into, and keeps its memory charged to the query.
#pragma once

#include <memory>
#include <optional>
#include <unordered_map>

#include "store/rocks/catalogue.h"
#include "store/rocks/sealed.h"

namespace fathom::store {

class TraceReader {
 public:
  TraceReader(SealedReader& sealed, const Catalogue& catalogue, uint64_t last_sequence = UINT64_MAX)
      : sealed_(sealed), catalogue_(catalogue), last_sequence_(last_sequence), items_memory_(sealed.budget().hold()) {}

  // kNotFound when no span of the trace is stored.
  Result<StoredTrace> load(const TraceId& id);
  // Which of these are stored, the first `most` of them.
  Result<std::vector<TraceId>> ids(const TraceIdRange& range, size_t most);
  // The summary over all stored spans; nothing when there are none.
  Result<std::optional<TraceSummary>> summary(const TraceId& id);
  // Whether the trace has rows that do not exist for this reader.
  Result<bool> grew_later(const TraceId& id);

 private:
  struct Item;
  Result<> load_sealed(const TraceId& id, std::vector<Item>& items, StoredTrace& trace);
  Result<> load_memory(const TraceId& id, std::vector<Item>& items, StoredTrace& trace);
  Result<std::vector<Item>> load_items(const TraceId& id, StoredTrace& trace);
  Result<> pay_for_items(uint64_t rows);
  Result<> pay_for_spans(uint64_t spans, StoredTrace& trace);
  Result<std::vector<TraceRow>> light_rows(const TraceId& id);
  Result<std::optional<TraceSummary>> summary_of_rows(const TraceId& id);
  bool in_memory(const TraceId& id) const;
  bool sealed_later(const TracePart& part) const;
  const OperationKey& operation(uint32_t id);

  SealedReader& sealed_;
  const Catalogue& catalogue_;
  const uint64_t last_sequence_;
  HeldMemory items_memory_;  // of the rows that are being put together
  std::unordered_map<uint32_t, std::shared_ptr<const OperationKey>> operations_;  // those that were met
};

}  // namespace fathom::store

// Whole traces, from wherever their rows are: generations in memory and sealed segments.
//
// Purpose: trace(), and the truth about a trace that searches check their candidates against. Thread safety: one query,
// one thread. Ownership: a StoredTrace owns what its views point into, but names of operations belong to the catalogue.
#pragma once

#include <optional>

#include "store/rocks/catalogue.h"
#include "store/rocks/sealed.h"

namespace fathom::store {

class TraceReader {
 public:
  TraceReader(SealedReader& sealed, const Catalogue& catalogue) : sealed_(sealed), catalogue_(catalogue) {}

  // kNotFound when no span of the trace is stored.
  Result<StoredTrace> load(const TraceId& id);
  // The summary over all stored spans; nothing when there are none.
  Result<std::optional<TraceSummary>> summary(const TraceId& id);

 private:
  struct Item;
  Result<> load_sealed(const TraceId& id, std::vector<Item>& items, StoredTrace& trace);
  Result<> load_memory(const TraceId& id, std::vector<Item>& items, StoredTrace& trace);
  Result<std::vector<Item>> load_items(const TraceId& id, StoredTrace& trace);
  Result<std::optional<TraceSummary>> summary_in_memory(const TraceId& id);
  bool in_memory(const TraceId& id) const;

  SealedReader& sealed_;
  const Catalogue& catalogue_;
};

}  // namespace fathom::store

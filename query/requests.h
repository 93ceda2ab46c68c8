// Requests: whole traces that are picked by one of their spans, and told to a tally.
//
// Purpose: behind differences of requests; which are alike is said by their root, or where spans are asked for by what
// they say, by the span that was found. Thread safety: one thread. Ownership: it points to the store and the budget.
// Errors: those of the store, and of the budget that is spent; a trace that is gone, or larger than 4 MiB, is left out.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "query/trait_tally.h"
#include "store/span_store.h"

namespace fathom::query {

// What a request is an example of: that of its root, or where spans are asked for by what they say, of the one found.
struct Kind {
  std::string service;
  std::string operation;
  uint64_t selected = 0;
};

class Requests {
 public:
  Requests(store::SpanStore& store, bool by_root, store::QueryBudget& budget)
      : store_(store), by_root_(by_root), budget_(budget), tally_memory_(budget.hold()) {}

  // Each trace once, and on the side that it came to first.
  void pick(const store::StoredSpan& stored);
  // Of those that were picked since the last time.
  Result<> tally(bool is_selected, TraitTally& tally);
  // Of the selected ones, the most frequent first.
  std::vector<Kind> kinds() const;

 private:
  struct Picked {
    TraceId trace_id;
    SpanId span_id;
  };

  void count_kind(const store::StoredSpan& own);
  // Nothing where it is too large, or gone meanwhile.
  Result<std::optional<store::StoredTrace>> read(const TraceId& id);

  store::SpanStore& store_;
  const bool by_root_;
  store::QueryBudget& budget_;
  store::HeldMemory memory_;        // of the request that is read
  store::HeldMemory tally_memory_;  // of what all requests have
  std::set<TraceId> seen_;
  std::vector<Picked> picked_;
  std::map<std::string, Kind> kinds_;  // by like_of()
};

}  // namespace fathom::query

// StoredSpans: makes the spans that trace() returns from rows of blocks and of generations.
//
// Purpose: one meaning of a stored span for whole traces and for pages. Thread safety: one query, one thread.
// Ownership: spans point into the names of operations that it keeps: the owner of the spans must take own_names().
// Errors: kExhausted.
#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "store/rocks/catalogue.h"
#include "store/rocks/generation.h"
#include "store/rocks/trace_rows.h"

namespace fathom::store {

struct StoredRow;

class StoredSpans {
 public:
  StoredSpans(const Catalogue& catalogue, QueryBudget& budget) : catalogue_(catalogue), budget_(budget) {}

  StoredSpan of(const StoredRow& row);
  // In a generation that the caller holds still. What the span points into joins `owners`; the budget pays for it.
  Result<StoredSpan> of(const Generation& generation, const Generation::Row& row,
                        std::vector<std::shared_ptr<const void>>& owners);
  void own_names(std::vector<std::shared_ptr<const void>>& owners) const;

 private:
  const OperationKey& operation(uint32_t id);

  const Catalogue& catalogue_;
  QueryBudget& budget_;
  std::unordered_map<uint32_t, std::shared_ptr<const OperationKey>> operations_;  // those that were met
};

}  // namespace fathom::store

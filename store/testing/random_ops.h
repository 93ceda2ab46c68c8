// Random sequences of operations, run on two stores whose every answer must be equal.
//
// Purpose: to find what nobody thought of. Few services, names, values, times and trace ids, so that collisions are the
// rule: traces that grow over batches and hours, repeated and conflicting rows, ties everywhere. A sequence depends on
// its seed alone, not on answers, so that a failing one can be run again and made shorter. Thread safety: none.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "store/testing/contract_harness.h"

namespace fathom::store::testing {

// One store of the two, with where its pages ended.
struct Session {
  std::unique_ptr<Harness> harness;
  std::map<uint64_t, std::optional<Cursor>> pages;

  SpanStore& store() { return harness->store(); }
};

struct Operation {
  std::string text;
  std::function<std::string(Session&)> run;  // gives the answer's text
};

std::vector<Operation> random_operations(uint64_t seed, size_t count);

// Every third seed has spans with ids of their own alone, so that what scans show can be counted.
//
// What random_operations() assumes of the stores. Odd seeds have more operations than the stores keep apart; in their
// sequences no row comes again after a drop, because such a row, but not the one that it equals, may find a place among
// the operations, and until they are sealed a store may show either.
HarnessOptions random_harness(uint64_t seed);

// Nothing when all answers are equal; else the seed, the shortest sequence found that fails, and both answers.
std::optional<std::string> compare_stores(const StoreFactory& expected, const StoreFactory& actual, uint64_t seed,
                                          size_t count);

}  // namespace fathom::store::testing

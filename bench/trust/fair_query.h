// The fairness of queries: how long a trace by id takes while clients ask for as much as one query can be asked for.
//
// Purpose: the measurement behind `trust.fair_query_ms_p99`. Each expensive client has a connection of its own and asks
// again as soon as it is answered; each kind of question is asked. Thread safety: one thread. Errors: the first answer
// to a trace by id that is not what the workload says, and an expensive query that failed for another reason than its
// deadline.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "bench/latencies.h"
#include "bench/workload.h"

namespace fathom::bench {

struct FairQueryOptions {
  std::string http;  // HOST:PORT
  size_t clients = 4;
  size_t rounds = 1000;             // traces by id
  uint64_t pace_nano = 25'000'000;  // from one to the next
  uint64_t seed = 1;
};

struct FairQueryFigures {
  Latencies trace_by_id;
  Latencies expensive;
  uint64_t beyond_deadline = 0;  // of the expensive queries
};

// `traces` of `workload` are stored on the server at `http`.
Result<FairQueryFigures> measure_fair_query(const Workload& workload, uint64_t traces, const FairQueryOptions& options);

// The targets that expensive clients ask for, over all that is stored.
std::vector<std::string> expensive_targets();

}  // namespace fathom::bench

// The measurements of bench-query: rounds of one query per key against a server that holds a workload and takes in
// more.
//
// Thread safety: one thread. Errors: the first answer that is not what brute force says ends everything, with details.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "bench/brute_force.h"
#include "bench/latencies.h"
#include "bench/load_client.h"
#include "bench/query_client.h"

namespace fathom::bench {

inline constexpr size_t kPageRows = 20;
inline constexpr size_t kFiftiethPageFirst = 49 * kPageRows;

struct QueryLatencies {
  Latencies hour, day, where, page_50, trace_by_id, found;
};

// Questions for the stored workload and their answers, made before anything is timed.
class QueryPlan {
 public:
  struct Asked {
    Question question;
    std::vector<ExpectedTrace> expected;
    uint32_t position = 0;
  };
  QueryPlan(const TraceTable& table, uint64_t seed, size_t rounds);

  size_t rounds() const { return hours_.size(); }
  const Asked& hour(size_t round) const { return hours_[round]; }
  const Asked& day(size_t round) const { return days_[round]; }
  const Asked& where(size_t round) const { return wheres_[round]; }
  const Asked& page(size_t round) const { return pages_[round]; }
  uint64_t trace(size_t round) const { return traces_[round]; }
  const TraceTable& table() const { return table_; }

 private:
  Asked ask(Question question, size_t limit) const;
  void plan_round(const Draws& draws);
  Question range(uint64_t draw, uint64_t length_nano) const;

  const TraceTable& table_;
  BruteForce brute_force_;
  std::vector<Asked> hours_, days_, wheres_, pages_;
  std::vector<uint64_t> traces_;
};

// A span of its own trace, sent alone; found when the server answers for its id.
class Probe {
 public:
  Probe(const std::string& otlp_grpc, uint64_t seed);
  // From the acknowledgement until found; kDeadline after ten seconds.
  Result<> measure(uint64_t index, QueryClient& client, Latencies& found);

 private:
  Workload workload_;
  SpanEncoder encoder_;
  LoadClient client_;
};

class QueryRounds {
 public:
  // The first `walks` rounds reach the fiftieth page page by page, comparing each; the others by one page of 980.
  QueryRounds(const QueryPlan& plan, const std::string& http, const std::string& otlp_grpc, uint64_t seed,
              size_t walks);
  // Begins a round every `pace_nano`, or when the last one has ended.
  Result<> run(uint64_t pace_nano);
  const QueryLatencies& latencies() const { return latencies_; }

 private:
  Result<> round(size_t number);
  Result<> slowest(const QueryPlan::Asked& asked, Latencies& latencies);
  Result<> page_50(const QueryPlan::Asked& asked, bool walk);
  Result<std::string> page(const QueryPlan::Asked& asked, size_t first, size_t limit, const std::string& cursor,
                           Latencies& latencies);
  Result<> trace_by_id(uint64_t index);

  const QueryPlan& plan_;
  QueryClient client_;
  Probe probe_;
  size_t walks_;
  QueryLatencies latencies_;
  Latencies unmeasured_;
};

// Questions about ranges that touch what came in live, once all of it is acknowledged.
Result<> verify_after(const std::string& http, const TraceTable& stored, const TraceTable& live, size_t questions);

}  // namespace fathom::bench

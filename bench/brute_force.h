// What the slowest traces of a workload are, by looking at all of them: the answers that a server's must equal.
//
// Purpose: independent of every index and format of the store's; it shares nothing but the workload with what it
// checks. Ownership: a TraceTable keeps a reference to its workload; BruteForce one to each table. Thread safety:
// reading from any thread once filled. Units: Unix nanoseconds. Memory: 17 bytes per trace.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/ids.h"
#include "bench/workload.h"

namespace fathom::bench {

// Traces [0, count) of a workload, by ascending start.
class TraceTable {
 public:
  TraceTable(const Workload& workload, uint64_t count);

  const Workload& workload() const { return workload_; }
  uint64_t count() const { return starts_.size(); }
  // The first trace that starts at or after `unix_nano`.
  uint64_t lower_bound(uint64_t unix_nano) const;
  uint64_t start_unix_nano(uint64_t index) const { return starts_[index]; }
  uint64_t duration_nano(uint64_t index) const { return durations_[index]; }
  uint32_t route(uint64_t index) const { return flags_[index] & 7; }
  bool canary(uint64_t index) const { return (flags_[index] & kCanaryFlag) != 0; }

 private:
  static constexpr uint8_t kCanaryFlag = 8;
  void add(uint64_t index);

  const Workload& workload_;
  std::vector<uint64_t> starts_;
  std::vector<uint64_t> durations_;
  std::vector<uint8_t> flags_;
};

struct Question {
  uint64_t from_unix_nano = 0;
  uint64_t to_unix_nano = 0;      // exclusive
  std::optional<uint32_t> route;  // shop-v1: the traces that a filter by one of the route's operations finds
  bool canary = false;
};

struct ExpectedTrace {
  const TraceTable* table = nullptr;
  uint64_t index = 0;
  uint64_t start_unix_nano = 0;
  uint64_t duration_nano = 0;

  TraceFacts facts() const { return table->workload().facts(index); }
};

class BruteForce {
 public:
  explicit BruteForce(std::vector<const TraceTable*> tables) : tables_(std::move(tables)) {}
  // The slowest `limit` traces that start in the question's range: duration descending, then start, then trace id.
  std::vector<ExpectedTrace> slowest(const Question& question, size_t limit) const;

 private:
  std::vector<const TraceTable*> tables_;
};

}  // namespace fathom::bench

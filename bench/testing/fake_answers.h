// Answers of a server that is always right, made from the workload; and a server that gives them.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bench/brute_force.h"

namespace fathom::bench {

std::string slowest_json(const std::vector<ExpectedTrace>& rows, const std::string& next_cursor);
std::string trace_json(const Workload& workload, uint64_t index);

// Answers /api/v1/slowest and /api/v1/traces/{id} for a table over HTTP; ids that it does not know are found at the
// second time of asking. `spoil` may change what is about to be answered.
class FakeQueryServer {
 public:
  using Spoil = std::function<void(std::vector<ExpectedTrace>&)>;
  explicit FakeQueryServer(const TraceTable& table, Spoil spoil = nullptr);
  ~FakeQueryServer();
  const std::string& address() const;
  size_t pages_served() const;  // answers to questions with a cursor

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace fathom::bench

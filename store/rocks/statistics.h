// Statistics: latency and counts per operation and time, and what attributes there are.
//
// Purpose: answers from the latency cells (minutes, and hours where a whole hour is asked for) and from the
// dictionaries of columns, plus the rows that are still in memory. Ranges are widened to whole minutes, but for
// first_start(). Thread safety: one query, one thread.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "store/index/latency_cell.h"
#include "store/rocks/engine.h"
#include "store/rocks/keys.h"

namespace fathom::store {

class Statistics {
 public:
  Statistics(Engine& engine, QueryBudget& budget);

  Result<std::vector<OperationStats>> operations(const TimeRange& range, const std::optional<std::string>& service);
  Result<std::vector<LatencyPoint>> latency(const TimeRange& range, const std::optional<std::string>& service,
                                            const std::optional<std::string>& operation, uint64_t step_nano);
  Result<std::optional<uint64_t>> first_start(const TimeRange& range);
  Result<std::vector<std::string>> attribute_keys(const TimeRange& range);
  Result<std::vector<ValueCount>> attribute_values(const TimeRange& range, const std::string& key,
                                                   const std::string& containing, size_t limit);

 private:
  using Visit = std::function<void(uint32_t operation, uint64_t start_unix_nano, const LatencyCell& cell)>;

  using Wanted = std::optional<std::unordered_set<uint32_t>>;

  Wanted wanted_operations(const std::optional<std::string>& service,
                           const std::optional<std::string>& operation) const;
  // Every cell in the range, in pieces no longer than `longest` (whole hours come as one where that allows it).
  Result<> visit_cells(const TimeRange& range, uint64_t longest_nano, const Visit& visit);
  Result<> visit_level(uint32_t partition, keys::Level level, uint32_t first, uint32_t last, const Visit& visit);
  Result<> visit_memory(const TimeRange& range, const Visit& visit);
  Result<> record(const Generation::Row& row, bool is_new, LatencyCell& cell, HeldMemory& memory);
  void merge(const LatencyCell& cell, LatencyCell& sum);
  Result<> first_start_in(const SegmentInfo& info, const TimeRange& range, uint64_t& first);
  Result<> add_count(const std::string& value, uint64_t rows, std::map<std::string, uint64_t>& counts);
  Result<> count_sealed_values(const TimeRange& range, const std::string& key, std::map<std::string, uint64_t>& counts);
  Result<> count_memory_values(const TimeRange& range, const std::string& key, std::map<std::string, uint64_t>& counts);

  Engine& engine_;
  QueryBudget& budget_;
  std::optional<Error> unpaid_;
  const ViewPtr view_;
  SealedReader sealed_;
};

}  // namespace fathom::store

// ListCheck: compares the slow lists and the latency cells of one partition with the rows of its segments.
//
// Purpose: proves for every list that its floor holds: whatever is longer than the floor is listed. Proves for every
// entry that a row or a summary says the same, and for every cell that it counts all rows. Thread safety: one thread.
// Ownership: everything given outlives it. Memory: 16 bytes per entry of the partition's lists, at most
// kMostEntries of them, and the partition's latency cells.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include <boost/unordered/unordered_flat_set.hpp>

#include "store/rocks/index_builder.h"
#include "store/rocks/sealed.h"
#include "store/verify/findings.h"

namespace fathom::store {

class ListCheck {
 public:
  static constexpr size_t kMostEntries = 4 << 20;

  ListCheck(Database& database, SealedReader& reader, Findings& findings, uint32_t partition);

  // What one segment contributed.
  void add(const IndexBuilder& segment);
  // After all segments of the partition. `complete`: all rows of all of them were read and added.
  void finish(bool complete);

 private:
  void load_entries();
  void check_covered(const std::string& key, const SlowList& part);
  void check_list(std::string_view key, const SlowList& list);
  bool is_supported(std::string_view key, const SlowEntry& entry);
  Result<bool> find_span(const SlowEntry& entry);
  Result<bool> find_summary(const SlowEntry& entry);
  void check_cells(bool complete);
  void check_cell(const std::string& key, const LatencyCell& stored);
  void check_hours();
  void damaged_list(std::string_view key, const std::string& reason);
  void damaged_cell(std::string_view key, const std::string& reason);

  Database& database_;
  SealedReader& reader_;
  Findings& findings_;
  const uint32_t partition_;
  boost::unordered_flat_set<uint64_t> unsupported_;  // hashes of entries that no segment has confirmed yet
  Tally unreadable_;
  bool all_entries_ = true;  // false: there were too many to remember
  std::map<std::string, LatencyCell> expected_;
  std::map<std::string, LatencyCell> hours_;  // sums of the stored minutes
  std::map<std::string, LatencyCell> stored_hours_;
};

// Whether the stored list says all that a part of its rows requires; why not, otherwise.
Result<> list_covers(const SlowList& stored, const SlowList& part);
// Whether the cell counts at least what the other one counts.
bool cell_covers(const LatencyCell& stored, const LatencyCell& part);

}  // namespace fathom::store

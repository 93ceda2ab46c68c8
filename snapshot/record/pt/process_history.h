// ProcessHistory: what is known of the node's processes, from the oldest packet on that a window may still hold.
//
// Purpose: rows of the sideband rings come in by the thousand per second and for days; what is older than any packet is
// folded into the state that it led to, and processes that ended before it are forgotten. Thread safety: one thread.
// Units: ticks of the time-stamp counter. Errors: none; more rows than `most_rows` between two foldings are a counted
// loss, which is a row of its own. Source of the idea: LTTng's state dump, and perf's "synthesised" records.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "snapshot/format/snapshot.h"

namespace fathom::snapshot {

class ProcessHistory {
 public:
  explicit ProcessHistory(size_t most_rows = 2'000'000) : most_rows_(most_rows) {}

  void add(Sideband row);
  // Everything before `horizon_tsc` becomes state.
  void fold(uint64_t horizon_tsc);
  // State first (tsc 0), then the rows since the last folding, in the order of time.
  std::vector<Sideband> rows() const;
  size_t recent() const { return recent_.size(); }
  uint64_t dropped() const { return dropped_; }
  // From then on the rows are all there, except around losses (kLost); the state is that of this time.
  uint64_t known_from_tsc() const { return std::max(folded_tsc_, dropped_tsc_); }
  // CPUs whose last switch before that time is not known for certain.
  std::set<int32_t> unsure() const;
  bool knows(int32_t pid) const { return processes_.contains(pid); }

 private:
  struct Process {
    std::map<uint64_t, Sideband> maps;    // by address, without overlap
    std::map<int32_t, Sideband> names;    // by thread
    std::map<int32_t, Sideband> threads;  // the rows that began them
  };

  static void append_process(int32_t pid, const Process& process, std::vector<Sideband>& rows);
  void apply(const Sideband& row);
  void apply_map(std::map<uint64_t, Sideband>& maps, const Sideband& row);
  void apply_name(const Sideband& row);
  void apply_fork(const Sideband& row);
  void apply_exit(const Sideband& row);
  void apply_kernel(const Sideband& row);
  void apply_lost(const Sideband& row);
  void sort_recent();

  size_t most_rows_;
  uint64_t dropped_ = 0;
  std::map<int32_t, Process> processes_;
  std::map<uint64_t, Sideband> kernel_maps_;
  std::map<uint64_t, Sideband> kernel_symbols_;
  std::map<uint64_t, Sideband> text_pokes_;
  std::map<int32_t, Sideband> running_;  // by CPU: its last switch
  std::set<int32_t> unsure_;
  uint64_t folded_tsc_ = 0;
  uint64_t dropped_tsc_ = 0;
  std::vector<Sideband> recent_;
};

}  // namespace fathom::snapshot

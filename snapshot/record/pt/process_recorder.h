// ProcessRecorder: the side of a recording that is not packets: who ran, and what code they had.
//
// Purpose: takes records of perf as they are drained, keeps the history and the files behind it, and describes a window
// of it in a Snapshot. Thread safety: one thread. Errors: what cannot be had is a missing image or a counted loss.
#pragma once

#include <map>
#include <set>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "snapshot/format/directory.h"
#include "snapshot/format/perf_records.h"
#include "snapshot/record/pt/image_table.h"
#include "snapshot/record/pt/jit_images.h"
#include "snapshot/record/pt/process_history.h"

namespace fathom::snapshot {

class ProcessRecorder {
 public:
  ProcessRecorder(PerfSystem& system, const SnapshotDirectory& directory)
      : system_(system), directory_(directory), images_(system) {}

  void use_timing(const Timing& timing) { timing_ = timing; }
  // What is there already; `pids` empty: all.
  void scan(const std::vector<int32_t>& pids);
  // The kernel's code as it is now.
  void copy_kernel();
  // One record of a ring of `cpu`.
  void record(std::string_view bytes, int32_t cpu);
  void fold(uint64_t horizon_tsc);

  // Images, rows and losses of [begin_tsc, end_tsc]. `everybody`: also of processes that did not run meanwhile.
  void describe(Snapshot& snapshot, uint64_t begin_tsc, uint64_t end_tsc, bool everybody);

  const ProcessHistory& history() const { return history_; }

 private:
  void add(PerfSideband made);
  void hold_jitdump(const Sideband& row, const PerfMapping& mapping);
  void append_jitted(const std::set<int32_t>& pids, std::vector<Sideband>& rows);
  void number_images(Snapshot& snapshot);

  PerfSystem& system_;
  const SnapshotDirectory& directory_;
  Timing timing_;
  ProcessHistory history_;
  ImageTable images_;
  std::map<int32_t, Fd> jitdumps_;  // by process
  uint64_t bad_records_ = 0;
  uint64_t lost_records_ = 0;
};

}  // namespace fathom::snapshot

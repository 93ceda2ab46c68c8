// ProcessRecorder: the side of a recording that is not packets: who ran, and what code they had.
//
// Purpose: takes records of perf as they are drained, keeps the history and the files behind it, and describes a window
// of it in a Snapshot. Thread safety: one thread. Errors: what cannot be had is a missing image or a counted loss.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "snapshot/format/directory.h"
#include "snapshot/format/perf_records.h"
#include "snapshot/record/pt/image_table.h"
#include "snapshot/record/pt/jit_images.h"
#include "snapshot/record/pt/one_user.h"
#include "snapshot/record/pt/process_history.h"
#include "snapshot/record/pt/process_owners.h"
#include "snapshot/record/pt/pt_options.h"

namespace fathom::snapshot {

// Names a loss of a snapshot, if there is any.
void append_loss(Snapshot& snapshot, const std::string& name, uint64_t count);

class ProcessRecorder {
 public:
  ProcessRecorder(PerfSystem& system, const SnapshotDirectory& directory, const PtOptions& options);

  void use_timing(const Timing& timing) { timing_ = timing; }
  // What is there already; `pids` empty: all.
  void scan(const std::vector<int32_t>& pids);
  // The kernel's code as it is now.
  void copy_kernel();
  // One record of a ring of `cpu`.
  void record(std::string_view bytes, int32_t cpu);
  // Records after its last one may be missing: the kernel reports losses late.
  void doubt(int32_t cpu);
  // After the records that there were.
  void drained();
  void fold(uint64_t horizon_tsc);

  // What may be shown of one user in a window that begins then. Only with PtOptions::one_user.
  OneUser of_user(uint32_t uid, uint64_t begin_tsc);
  HiddenTimes hidden_times(const OneUser& user) const;

  struct Window {
    uint64_t begin_tsc = 0;
    uint64_t end_tsc = 0;
    bool everybody = false;         // also processes that did not run meanwhile
    const OneUser* user = nullptr;  // processes of this user alone
  };
  // Images, rows and losses of a window.
  void describe(Snapshot& snapshot, const Window& window);

  const ProcessHistory& history() const { return history_; }

 private:
  void add(PerfSideband made);
  void hold_jitdump(const Sideband& row, const PerfMapping& mapping);
  void append_jitted(const std::set<int32_t>& pids, std::vector<Sideband>& rows);
  void number_images(Snapshot& snapshot);

  PerfSystem& system_;
  const SnapshotDirectory& directory_;
  const bool kernel_is_recorded_;
  Timing timing_;
  std::optional<ProcessOwners> owners_;
  std::map<int32_t, uint64_t> last_tsc_;  // of a row, by CPU
  ProcessHistory history_;
  ImageTable images_;
  std::map<int32_t, Fd> jitdumps_;  // by process
  uint64_t bad_records_ = 0;
  uint64_t lost_records_ = 0;
};

}  // namespace fathom::snapshot

// PtRecorder: Intel PT of a node or of some processes, kept in rings that overwrite, and cut out on a trigger.
//
// Purpose: armed, the processor writes packets into one ring per CPU, and nobody reads them; on a trigger the rings are
// stopped, the window is copied out of them, and they go on. Off unless armed: recording costs programs up to a quarter
// of their speed. Thread safety: one thread, but stop() and resume(), which another one may call meanwhile: whoever
// waits for triggers must not wait for drain(). Ownership: events, rings and the copy
// (most_snapshot_bytes) are its own; the PerfSystem and the SnapshotDirectory must outlive it. Its destructor disarms.
// Errors: those of pt_config.h and obstacles.h. Units: ticks of the time-stamp counter, nanoseconds.
// Source of the idea: magic-trace (record and decode are separate halves), LDB (what it costs).
//
// Use: arm(); while it lives, wait for poll_events() and call drain(); on a trigger take().
#pragma once

#include <poll.h>

#include <memory>
#include <optional>
#include <vector>

#include "base/result.h"
#include "snapshot/format/directory.h"
#include "snapshot/record/pt/cpu_ring.h"
#include "snapshot/record/pt/one_user.h"
#include "snapshot/record/pt/perf_clock.h"
#include "snapshot/record/pt/process_recorder.h"
#include "snapshot/record/pt/pt_options.h"

namespace fathom::snapshot {

struct SnapshotWindow {
  uint64_t begin_tsc = 0;  // 0: as far back as the rings reach
  int32_t cpu = -1;        // where the trigger happened; its ring is stopped first
  // The user whose programs alone the snapshot has; with PtOptions::one_user, and never without.
  std::optional<uint32_t> uid = std::nullopt;
};

// What a snapshot cost. Programs run unrecorded from the stop to the resumption, and are never stopped themselves.
struct SnapshotCost {
  uint64_t stop_first_nano = 0;  // until the first ring, the trigger's, stood still
  uint64_t stop_nano = 0;        // until all did
  uint64_t copy_nano = 0;
  uint64_t resume_nano = 0;
  uint64_t describe_nano = 0;  // draining the sideband, copying images
  uint64_t write_nano = 0;
  uint64_t packet_bytes = 0;
  uint64_t left_out_bytes = 0;  // packets of the window that were written while others' processes ran, or unknown ones
  uint32_t cpus = 0;
  uint32_t cpus_offline = 0;    // skipped
  uint32_t cpus_cut_short = 0;  // the ring, or the limit of bytes, did not reach back to the window's begin
};

struct TakenSnapshot {
  SnapshotId id;
  SnapshotCost cost;
  TraceId trace_id;  // of the trigger; zero: of none
};

class PtRecorder {
 public:
  static Result<std::unique_ptr<PtRecorder>> arm(PerfSystem& system, const SnapshotDirectory& directory,
                                                 const PtOptions& options);

  // Readable when a ring of the sideband is a quarter full. Or drain() by time, ten times per second.
  std::vector<pollfd> poll_events() const;
  Result<> drain();

  // kInvalid if the window has a user and PtOptions::one_user was not set, or the other way round.
  Result<TakenSnapshot> take(const SnapshotWindow& window, const Trigger& trigger);

  // The first half of take() alone, for the thread that waits for triggers: a second stop does no harm. Between the two
  // that thread leaves the recorder to take(), or calls resume().
  void stop(int32_t first_cpu);
  Result<> resume();

  const std::vector<CpuRing>& rings() const { return rings_; }
  const Timing& timing() const { return timing_; }
  uint32_t cpus_offline() const { return cpus_offline_; }
  const SnapshotCost& cost() const { return cost_; }

 private:
  PtRecorder(PerfSystem& system, const SnapshotDirectory& directory, const PtOptions& options)
      : system_(system), directory_(directory), options_(options), processes_(system, directory, options) {}

  void stop_one(const CpuRing& ring);

  struct Copied {
    size_t ring;
    uint64_t at;  // in copy_
    uint64_t bytes;
    uint64_t first_tsc;
    std::vector<PacketRange> shown;  // of these bytes
  };

  Result<> open_rings(const PtPmu& pmu);
  Result<> begin();
  Result<> learn_clock();
  void copy_windows(uint64_t begin_tsc);
  uint64_t copy_one(size_t ring, uint64_t begin_tsc, uint64_t room);
  uint64_t horizon() const;
  uint64_t ticks_of(uint64_t nano) const;
  Snapshot describe(const SnapshotWindow& window, const Trigger& trigger);
  void leave_out_others(const OneUser& user, Snapshot& snapshot);
  bool is_clock_constant() const;
  Result<SnapshotId> write(Snapshot snapshot);

  PerfSystem& system_;
  const SnapshotDirectory& directory_;
  PtOptions options_;
  Cpu cpu_;
  Timing timing_;
  std::optional<PerfClock> measured_clock_;  // where the kernel does not say
  std::vector<CpuRing> rings_;
  uint32_t cpus_offline_ = 0;
  ProcessRecorder processes_;
  uint64_t next_fold_tsc_ = 0;

  // Of the snapshot that is being taken.
  bool stopped_ = false;
  int32_t first_cpu_ = -1;
  uint64_t stopped_tsc_ = 0;
  SnapshotCost cost_;
  std::unique_ptr<uint8_t[]> copy_;
  std::vector<Copied> copied_;
};

}  // namespace fathom::snapshot

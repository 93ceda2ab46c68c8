// A workload in turns, with and without Intel PT.
//
// Purpose: what recording costs a program, and what it writes. The system's calls are those of the recorder, so that
// all of this runs in tests on a system that follows a script. Thread safety: one thread. Units: in the names. Errors:
// those of PtRecorder; kUnavailable when the workload ended.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/result.h"
#include "snapshot/format/directory.h"
#include "snapshot/record/pt/perf_system.h"
#include "snapshot/record/pt/pt_options.h"

namespace fathom::bench {

class PtWorkload {
 public:
  virtual ~PtWorkload() = default;
  virtual int32_t pid() const = 0;
  // So many turns; how long they took by the workload's own clock.
  virtual Result<double> run(uint64_t turns) = 0;
};
// pt_workload (bench/snapshot/programs), beside this program.
Result<std::unique_ptr<PtWorkload>> start_workload(const std::string& name);

// Turns that take about so long.
Result<uint64_t> turns_of(PtWorkload& workload, double seconds);

struct PtTurn {
  double seconds = 0;
  uint64_t packet_bytes = 0;  // that the ring still held
  double bytes_per_s = 0;     // between the first and the last synchronisation point of the largest stream; 0: one PSB
  snapshot::SnapshotId id;
};
// Armed before, and taken after it; `options.pids` is filled in.
Result<PtTurn> run_recorded(snapshot::PerfSystem& system, const snapshot::SnapshotDirectory& directory,
                            snapshot::PtOptions options, PtWorkload& workload, uint64_t turns);

}  // namespace fathom::bench

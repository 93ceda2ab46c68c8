// The measurements of Intel PT by Sharma and Dagenais again: what it costs programs and how much it writes (table 1),
// beside the kernel's function tracer (table 2), and size against resolution when a period changes (figures 5 to 7).
//
// Purpose: for a host that has PT. Every call of the system is the recorder's (PerfSystem), so that tests script it.
// Thread safety: one thread. Units: in the names. Errors: those of the recorder and of the workloads. Source:
// "Hardware-Assisted Instruction Profiling and Latency Detection", section 4.2.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "bench/snapshot/pt_turns.h"
#include "snapshot/record/pt/pmu.h"

namespace fathom::bench {

struct PtHost {
  snapshot::PerfSystem& system;
  const snapshot::SnapshotDirectory& directory;
};

// Table 1: a row.
struct PtOverhead {
  double overhead_percent = 0;  // median over rounds, in each of which both take a turn
  double mb_per_s = 0;          // of packets, while it runs
};
Result<PtOverhead> measure_overhead(const PtHost& host, PtWorkload& workload, uint64_t turns, int rounds);

// Table 2: a column of it for any tracer.
struct TracedOver {
  double baseline_seconds = 0;
  double overhead_percent = 0;
};
// `traced` runs the same turns under a tracer.
Result<TracedOver> measure_traced(PtWorkload& workload, uint64_t turns, int rounds,
                                  const std::function<Result<double>()>& traced);

// Figures 5 to 7: one period changes, the others are off (CYC, MTC) or constant (PSB).
struct SweepPoint {
  uint8_t value = 0;  // the exponent, as the processor takes it
  uint64_t packet_bytes = 0;
  double median_nano = 0;  // between branches whose time is newly known
  double median_instructions = 0;
  double factor = 0;  // TRF: 0 is the finest of all points of all figures, 100 the coarsest
};
struct Sweep {
  std::string name;     // "cyc_thresh", "mtc_period", "psb_period"
  std::string why_not;  // instead of points: what the processor lacks
  std::vector<SweepPoint> points;
};
Result<std::vector<Sweep>> measure_sweeps(const PtHost& host, PtWorkload& workload, uint64_t turns);

// TRF = 100 / (max(P) - min(P)) * (p - min(P)), p = half the median time times half the median instructions.
void place_factors(std::vector<Sweep>& sweeps);
// What to ask the recorder for, in the order of the values that the processor offers.
std::vector<std::pair<uint8_t, snapshot::PtOptions>> sweep_settings(const snapshot::PtPmu& pmu,
                                                                    const std::string& name);

}  // namespace fathom::bench

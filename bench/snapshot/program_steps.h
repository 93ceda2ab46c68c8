// What the programs around snapshots reach: from a file to its calls, in how much memory, how true and fast the stepper
// is, how soon a trigger stops the rings.
//
// Thread safety: one thread. Units: in the names. Errors: what a program said when it failed; kUnsupported where this
// machine cannot.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "bench/snapshot/streams.h"

namespace fathom::bench {

// `fathom snapshot import` of a raw stream, and then `fathom snapshot calls`: the median of `rounds`, each with nothing
// kept from the round before.
Result<double> import_to_calls_ms(const std::string& fathom, const MadeStream& stream, const std::string& directory,
                                  int rounds);

// The memory of fathom-worker for the calls of a snapshot with about so many bytes of packets.
Result<double> worker_rss_max_mib(const std::string& worker, const MadeStream& stream, uint64_t bytes,
                                  const std::string& directory);

// Packets of a perf.data by kind against what `perf script -D` counts; the number of kinds that differ.
Result<uint64_t> wrong_packets(const std::string& perf_data, const std::string& directory);

struct TriggerSpeed {
  bool real_pt = false;
  double p50_us = 0;
  double p99_us = 0;
};
Result<TriggerSpeed> measure_trigger(uint64_t count);

struct StepperSpeed {
  uint64_t instructions = 0;
  uint64_t mismatches = 0;
  double bare_steps_per_s = 0;
  double over_bare_loop = 0;
};
// All subjects for the mismatches; medians of `rounds` for the speed.
Result<StepperSpeed> measure_stepper(const std::string& directory, int rounds);

}  // namespace fathom::bench

// What the system says of this process, under the names that Prometheus's own libraries give it.
//
// Thread safety: all of it. Units: in the names. Errors: what cannot be read is left out.
#pragma once

#include <vector>

namespace fathom {

struct ProcessMetric {
  const char* name;
  const char* help;
  const char* type;
  double value;
};

// Sorted by name: process_cpu_seconds_total, process_open_fds, process_resident_memory_bytes,
// process_start_time_seconds.
std::vector<ProcessMetric> process_metrics();

}  // namespace fathom

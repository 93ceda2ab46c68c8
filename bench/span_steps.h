// The measurements of bench-spans that need an agent: what it costs, how soon a span is found, what a crash loses.
//
// Thread safety: one thread. Units: in names. Errors: a program that failed, an agent or server that died: the step has
// no result then, because a figure of a broken run is worse than none.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "bench/latencies.h"
#include "bench/server.h"
#include "bench/traced_node.h"

namespace fathom::bench {

struct AgentCost {
  uint64_t acknowledged = 0;
  uint64_t lost = 0;       // in the programs, for lack of memory
  double cpu_seconds = 0;  // of the agent alone, until all was acknowledged
  double wall_seconds = 0;

  double spans_per_s_per_core() const { return static_cast<double>(acknowledged) / cpu_seconds; }
};
// `programs` of one thread each write `rate` spans a second for `seconds`; `collector` takes the agent's batches.
// `agent_arguments`: besides.
Result<AgentCost> measure_agent(const std::string& work_directory, const std::string& collector, uint32_t programs,
                                uint64_t rate, double seconds, const std::vector<std::string>& agent_arguments = {});

// VmHWM of the agent when so many programs have written for `seconds`.
struct Crowd {
  uint32_t programs = 100;
  uint32_t threads = 10;
  uint64_t rate = 50;  // of each thread
  double seconds = 20;
};
Result<double> measure_agent_memory(const std::string& work_directory, const std::string& collector,
                                    const Crowd& crowd);

// From the end of a span in a program to its being found by its trace; `count` of them, one at a time.
Result<Latencies> measure_span_to_found(const ServerOptions& server, uint64_t count);

struct CrashOutcome {
  uint64_t finished = 0;  // spans whose end() had returned
  uint64_t counted = 0;   // of these, lost for lack of memory, and counted so
  uint64_t missing = 0;   // neither found nor counted
};
// `programs`, one after the other, each killed (SIGKILL) at a random moment while it writes as fast as it can.
Result<CrashOutcome> measure_crashes(const ServerOptions& server, uint64_t seed, uint32_t programs);

}  // namespace fathom::bench

// What this host lets the agent see of its kernel, and what helps where it does not.
//
// Purpose: `fathom doctor`, and the words of KernelRecorder::create()'s errors. Thread safety: all of it. Errors: none;
// what cannot be found out is said to be in the way only when loading the programs fails, too. Nothing stays loaded.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "node-agent/sources/availability.h"

namespace fathom::agent {

std::vector<Availability> kernel_availability();

struct KernelObstacle {
  std::string why_not;
  std::string cure;
};
// Of what the kernel said when it refused the programs, though the facts below spoke for it.
KernelObstacle refused_programs(const Error& refusal);

// The facts, and the judgement on them, for tests.
struct KernelFacts {
  bool host_process_ids = true;  // else ours are those of a container
  bool describes_itself = true;  // BTF
  int major = 6;
  int minor = 1;
  uint64_t capabilities = 0;  // effective
  std::string lockdown;       // /sys/kernel/security/lockdown: "none [integrity] confidentiality"
};
KernelFacts read_kernel_facts();
std::optional<KernelObstacle> judge_kernel(const KernelFacts& facts);

}  // namespace fathom::agent

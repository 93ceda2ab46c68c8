#include "node-agent/kernel/process_ends.h"

#include "node-agent/kernel/record_layout.h"

namespace fathom::agent::kernel {

std::optional<int> find_exit_status(std::span<const uint64_t> ends, const ProcessId& process) {
  constexpr uint64_t kStatus = 0xffff;
  if (!process.known() || ends.empty()) return std::nullopt;
  const auto pid = static_cast<uint32_t>(process.pid);
  const uint64_t end = __atomic_load_n(&ends[pid % ends.size()], __ATOMIC_RELAXED);
  if ((end & ~kStatus) != end_of_process(pid, process.started_ticks, 0)) return std::nullopt;
  return static_cast<int>(end & kStatus);
}

}  // namespace fathom::agent::kernel

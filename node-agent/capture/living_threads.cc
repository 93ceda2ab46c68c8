#include "node-agent/capture/living_threads.h"

namespace fathom::agent {

namespace {

// A process whose file cannot be read counts as one with the node's numbers.
uint32_t own_pid(pid_t pid, const std::string& proc) {
  const uint32_t number = innermost_number(proc + "/" + std::to_string(pid) + "/status");
  return number != 0 ? number : static_cast<uint32_t>(pid);
}

}  // namespace

LivingThreads::LivingThreads(pid_t pid, const std::string& proc)
    : tasks_(pid, proc), threads_(pid, own_pid(pid, proc), proc) {
  threads_.look_at_all();
}

ThreadIdentity LivingThreads::operator()(uint32_t program_tid) const {
  const std::optional<uint32_t> node_tid = threads_.find(program_tid);
  if (!node_tid) return {program_tid, {}};
  return {*node_tid, tasks_.name_of(static_cast<pid_t>(*node_tid))};
}

}  // namespace fathom::agent

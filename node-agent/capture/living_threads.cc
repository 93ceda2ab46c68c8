#include "node-agent/capture/living_threads.h"

#include <fstream>

namespace fathom::agent {

namespace {

// A process whose file cannot be read counts as one with the node's numbers.
uint32_t own_pid(pid_t pid, const std::string& proc) {
  const uint32_t number = innermost_number(proc + "/" + std::to_string(pid) + "/status");
  return number != 0 ? number : static_cast<uint32_t>(pid);
}

}  // namespace

LivingThreads::LivingThreads(pid_t pid, const std::string& proc)
    : tasks_(proc + "/" + std::to_string(pid) + "/task/"), threads_(pid, own_pid(pid, proc), proc) {
  threads_.look_at_all();
}

ThreadIdentity LivingThreads::operator()(uint32_t program_tid) const {
  const std::optional<uint32_t> node_tid = threads_.find(program_tid);
  if (!node_tid) return {program_tid, {}};
  ThreadIdentity identity{*node_tid, {}};
  std::ifstream comm(tasks_ + std::to_string(identity.node_tid) + "/comm");
  std::getline(comm, identity.name);
  return identity;
}

}  // namespace fathom::agent

#include "node-agent/capture/living_threads.h"

#include <charconv>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace fathom::agent {

namespace {

// The numbers of a thread or process in all namespaces from that of /proc on, its own the last.
std::pair<size_t, uint32_t> inner_number(const std::string& status_path) {
  std::ifstream status(status_path);
  for (std::string line; std::getline(status, line);) {
    if (!line.starts_with("NSpid:")) continue;
    std::istringstream numbers(line.substr(6));
    std::pair<size_t, uint32_t> found{0, 0};
    for (uint32_t number = 0; numbers >> number; ++found.first) found.second = number;
    return found;
  }
  return {0, 0};
}

uint32_t number_of(const std::string& text) {
  uint32_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

}  // namespace

LivingThreads::LivingThreads(pid_t pid, const std::string& proc) : tasks_(proc + "/" + std::to_string(pid) + "/task/") {
  bool has_namespace = inner_number(proc + "/" + std::to_string(pid) + "/status").first > 1;
  std::error_code fault;
  std::filesystem::directory_iterator at(tasks_, fault);
  for (const std::filesystem::directory_iterator end; !fault && at != end && node_tids_.size() < kMostThreads;
       at.increment(fault)) {
    add(at->path().filename(), has_namespace);
  }
}

void LivingThreads::add(const std::string& number, bool has_namespace) {
  uint32_t node_tid = number_of(number);
  uint32_t program_tid = has_namespace ? inner_number(tasks_ + number + "/status").second : node_tid;
  if (node_tid != 0 && program_tid != 0) node_tids_.emplace(program_tid, node_tid);
}

ThreadIdentity LivingThreads::operator()(uint32_t program_tid) const {
  auto found = node_tids_.find(program_tid);
  if (found == node_tids_.end()) return {program_tid, {}};
  ThreadIdentity identity{found->second, {}};
  std::ifstream comm(tasks_ + std::to_string(identity.node_tid) + "/comm");
  std::getline(comm, identity.name);
  return identity;
}

}  // namespace fathom::agent

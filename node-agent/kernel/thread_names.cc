#include "node-agent/kernel/thread_names.h"

#include <fstream>
#include <ranges>

#include "node-agent/capture/task_directory.h"

namespace fathom::agent::kernel {

namespace {

std::string proc(pid_t pid, const char* what) {
  return "/proc/" + std::to_string(pid) + what;
}

}  // namespace

std::vector<ThreadName> thread_names(pid_t pid, const std::set<int32_t>& tids) {
  std::vector<ThreadName> names;
  const TaskDirectory tasks(pid);
  for (int32_t tid : std::views::take(tids, kMostNamedThreads)) {
    ThreadName thread{.pid = pid, .tid = tid, .name = tasks.name_of(tid)};
    if (!thread.name.empty()) names.push_back(std::move(thread));
  }
  return names;
}

bool is_thread_id(pid_t id) {
  std::ifstream file(proc(id, "/status"));
  for (std::string word; file >> word;) {
    pid_t process = 0;
    if (word == "Tgid:" && file >> process) return process != id;
  }
  return false;
}

}  // namespace fathom::agent::kernel

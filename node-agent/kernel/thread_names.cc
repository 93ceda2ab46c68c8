#include "node-agent/kernel/thread_names.h"

#include <fstream>

#include "node-agent/capture/task_directory.h"

namespace fathom::agent::kernel {

namespace {

std::string proc(pid_t pid, const char* what) {
  return "/proc/" + std::to_string(pid) + what;
}

}  // namespace

std::vector<ThreadName> thread_names(pid_t pid) {
  std::vector<ThreadName> names;
  TaskDirectory tasks(pid);
  tasks.for_each([&](pid_t tid) {
    ThreadName thread{.pid = pid, .tid = tid, .name = tasks.name_of(tid)};
    if (!thread.name.empty()) names.push_back(std::move(thread));
    return names.size() < kMostNamedThreads;
  });
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

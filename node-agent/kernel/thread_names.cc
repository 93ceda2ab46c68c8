#include "node-agent/kernel/thread_names.h"

#include <charconv>
#include <filesystem>
#include <fstream>

namespace fathom::agent::kernel {

namespace {

std::string proc(pid_t pid, const char* what) {
  return "/proc/" + std::to_string(pid) + what;
}

std::string first_line(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

}  // namespace

std::vector<ThreadName> thread_names(pid_t pid) {
  std::vector<ThreadName> names;
  std::error_code fault;
  std::filesystem::directory_iterator at(proc(pid, "/task"), fault);
  for (const std::filesystem::directory_iterator end; !fault && at != end && names.size() < kMostNamedThreads;
       at.increment(fault)) {
    const std::string id = at->path().filename();
    ThreadName thread{.pid = pid, .name = first_line(at->path() / "comm")};
    std::from_chars(id.data(), id.data() + id.size(), thread.tid);
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

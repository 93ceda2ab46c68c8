#include "node-agent/capture/task_directory.h"

#include <fcntl.h>
#include <unistd.h>

#include <string_view>

namespace fathom::agent {

namespace {

constexpr size_t kMostNameBytes = 64;  // the kernel's limit is 16 for a thread of a program

}  // namespace

TaskDirectory::TaskDirectory(pid_t pid, const std::string& proc)
    : directory_(::open((proc + "/" + std::to_string(pid) + "/task").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)) {}

std::string TaskDirectory::name_of(pid_t tid) const {
  if (!directory_.open()) return {};
  const Fd file(::openat(directory_.get(), (std::to_string(tid) + "/comm").c_str(), O_RDONLY | O_CLOEXEC));
  char name[kMostNameBytes];
  const ssize_t bytes = file.open() ? ::read(file.get(), name, sizeof name) : 0;
  const std::string_view text(name, bytes > 0 ? static_cast<size_t>(bytes) : 0);
  return std::string(text.substr(0, text.find('\n')));
}

}  // namespace fathom::agent

#include "node-agent/capture/task_directory.h"

#include <fcntl.h>
#include <unistd.h>

#include <charconv>
#include <cstring>

#include "base/fd.h"

namespace fathom::agent {

namespace {

constexpr size_t kMostNameBytes = 64;  // the kernel's limit is 16 for a thread of a program

}  // namespace

TaskDirectory::TaskDirectory(pid_t pid, const std::string& proc)
    : directory_(::opendir((proc + "/" + std::to_string(pid) + "/task").c_str())) {}

void TaskDirectory::for_each(const std::function<bool(pid_t tid)>& take) {
  if (!directory_) return;
  while (const dirent* entry = ::readdir(directory_.get())) {
    pid_t tid = 0;
    const char* end = entry->d_name + std::strlen(entry->d_name);
    const bool is_thread = std::from_chars(entry->d_name, end, tid).ec == std::errc();
    if (is_thread && !take(tid)) return;
  }
}

std::string TaskDirectory::name_of(pid_t tid) const {
  if (!directory_) return {};
  const Fd file(::openat(::dirfd(directory_.get()), (std::to_string(tid) + "/comm").c_str(), O_RDONLY | O_CLOEXEC));
  char name[kMostNameBytes];
  const ssize_t bytes = file.open() ? ::read(file.get(), name, sizeof name) : 0;
  const std::string_view text(name, bytes > 0 ? static_cast<size_t>(bytes) : 0);
  return std::string(text.substr(0, text.find('\n')));
}

}  // namespace fathom::agent

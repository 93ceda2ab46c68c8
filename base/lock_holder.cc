#include "base/lock_holder.h"

#include <fcntl.h>

#include <fstream>

#include "base/fd.h"

namespace fathom {

std::optional<std::string> lock_holder(const std::string& file) {
  Fd descriptor(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  struct flock asked {};
  asked.l_type = F_WRLCK;
  asked.l_whence = SEEK_SET;
  if (!descriptor.open() || ::fcntl(descriptor.get(), F_GETLK, &asked) != 0) return std::nullopt;
  if (asked.l_type == F_UNLCK) return std::nullopt;
  if (asked.l_pid <= 0) return "a process of another container";
  std::string process = std::to_string(asked.l_pid);
  std::string name;
  std::getline(std::ifstream("/proc/" + process + "/comm"), name);
  return "process " + process + (name.empty() ? "" : " (" + name + ")");
}

}  // namespace fathom

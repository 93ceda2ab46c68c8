#include "base/replace_file.h"

#include <sys/stat.h>

namespace fathom {

namespace {

// A disk that is nearly full takes a part.
bool write_all(int file, std::string_view content) {
  while (!content.empty()) {
    ssize_t size = ::write(file, content.data(), content.size());
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return false;
    content.remove_prefix(static_cast<size_t>(size));
  }
  return true;
}

}  // namespace

Result<> replace_file(const Fd& directory, const std::string& name, std::string_view content) {
  std::string fresh = name + ".new";
  Fd file(::openat(directory.get(), fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0644));
  if (!file.open()) return system_error("cannot write " + fresh);
  bool written = write_all(file.get(), content) && ::fsync(file.get()) == 0 &&
                 ::renameat(directory.get(), fresh.c_str(), directory.get(), name.c_str()) == 0 &&
                 ::fsync(directory.get()) == 0;
  if (!written) return system_error("cannot write " + name);
  return {};
}

}  // namespace fathom

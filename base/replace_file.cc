#include "base/replace_file.h"

#include <sys/stat.h>

#include "base/whole_io.h"

namespace fathom {

namespace {

// A file that is left over may have another mode.
bool narrow(const Fd& file, unsigned mode) {
  struct stat about {};
  if (::fstat(file.get(), &about) != 0) return false;
  const unsigned allowed = about.st_mode & 07777 & mode;
  return allowed == (about.st_mode & 07777) || ::fchmod(file.get(), allowed) == 0;
}

}  // namespace

Result<> replace_file(const Fd& directory, const std::string& name, std::string_view content, unsigned mode) {
  std::string fresh = name + ".new";
  Fd file(::openat(directory.get(), fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, mode));
  if (!file.open() || !narrow(file, mode)) return system_error("cannot write " + fresh);
  bool written = write_whole(file.get(), content, fresh) && ::fsync(file.get()) == 0 &&
                 ::renameat(directory.get(), fresh.c_str(), directory.get(), name.c_str()) == 0 &&
                 ::fsync(directory.get()) == 0;
  if (!written) return system_error("cannot write " + name);
  return {};
}

}  // namespace fathom

#include "base/replace_file.h"

#include <sys/stat.h>

#include "base/whole_io.h"

namespace fathom {

Result<> replace_file(const Fd& directory, const std::string& name, std::string_view content, unsigned mode) {
  std::string fresh = name + ".new";
  ::unlinkat(directory.get(), fresh.c_str(), 0);  // left over, perhaps with another mode
  Fd file(::openat(directory.get(), fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode));
  if (!file.open()) return system_error("cannot write " + fresh);
  bool written = write_whole(file.get(), content, fresh) && ::fsync(file.get()) == 0 &&
                 ::renameat(directory.get(), fresh.c_str(), directory.get(), name.c_str()) == 0 &&
                 ::fsync(directory.get()) == 0;
  if (!written) return system_error("cannot write " + name);
  return {};
}

}  // namespace fathom

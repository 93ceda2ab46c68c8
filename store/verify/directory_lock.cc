#include "store/verify/directory_lock.h"

#include <fcntl.h>

#include <cerrno>

#include "base/lock_holder.h"

namespace fathom::store {

Result<DirectoryLock> DirectoryLock::acquire(const std::string& path) {
  const std::string name = path + "/store/LOCK";
  Fd file(::open(name.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.open() && errno == ENOENT) return DirectoryLock(Fd());
  if (!file.open()) return system_error("cannot open " + name);
  struct flock shared {};
  shared.l_type = F_RDLCK;
  shared.l_whence = SEEK_SET;
  if (::fcntl(file.get(), F_SETLK, &shared) == 0) return DirectoryLock(std::move(file));
  if (errno != EAGAIN && errno != EACCES) return system_error("cannot lock " + name);
  const std::string holder = lock_holder(name).value_or("another process");
  return unavailable("the data directory " + path + " is in use by " + holder +
                     "; stop that process, or pass a copy of the directory");
}

}  // namespace fathom::store

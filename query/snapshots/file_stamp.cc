#include "query/snapshots/file_stamp.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/time.h"

namespace fathom::query {

uint64_t file_stamp(const struct stat& about) {
  if (about.st_mtim.tv_sec < 0) return 0;
  return static_cast<uint64_t>(about.st_mtim.tv_sec) * kNanosPerSecond + static_cast<uint64_t>(about.st_mtim.tv_nsec);
}

Result<> write_file_stamp(const std::string& path, uint64_t stamp_nano) {
  const struct timespec stamp {
    .tv_sec = static_cast<time_t>(stamp_nano / kNanosPerSecond),
    .tv_nsec = static_cast<long>(stamp_nano % kNanosPerSecond)
  };
  const struct timespec times[2] = {stamp, stamp};
  Fd file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (file.open() && ::futimens(file.get(), times) == 0 && ::fsync(file.get()) == 0) return {};
  return unavailable(system_error("cannot stamp " + path).message);
}

}  // namespace fathom::query

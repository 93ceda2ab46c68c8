#include "store/rocks/ballast.h"

#include <fcntl.h>
#include <sys/statvfs.h>
#include <unistd.h>

namespace fathom::store {

namespace {

// The manifest of ten thousand files and all else that opening writes take about as much.
constexpr uint64_t kBallastBytes = 2 << 20;
constexpr uint64_t kRoomBytes = 4 * kBallastBytes;

}  // namespace

uint64_t Ballast::free_bytes() const {
  struct statvfs disk {};
  if (::statvfs(path_.substr(0, path_.rfind('/')).c_str(), &disk) != 0) return 0;
  return uint64_t{disk.f_bavail} * disk.f_frsize;
}

void Ballast::take_on() const {
  if (::access(path_.c_str(), F_OK) == 0 || free_bytes() < kRoomBytes) return;
  int file = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file < 0) return;
  if (::posix_fallocate(file, 0, kBallastBytes) != 0) ::unlink(path_.c_str());
  ::close(file);
}

void Ballast::throw_off_if_full() const {
  throw_off_for(kBallastBytes);
}

void Ballast::throw_off_for(uint64_t bytes) const {
  if (free_bytes() < bytes) ::unlink(path_.c_str());
}

}  // namespace fathom::store

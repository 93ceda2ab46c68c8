#include "node-agent/pool/memory_file.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>

namespace fathom::agent {

namespace {

// Only memory of the kernel's own kind: a file of another file system could make a read wait for ever, and already the
// question what it is. Its seals are the kernel's own to tell.
Result<struct stat> check_kind(int descriptor) {
  int seals = ::fcntl(descriptor, F_GET_SEALS);
  if (seals < 0) return invalid("not a memory file");
  if ((seals & F_SEAL_SHRINK) == 0) return invalid("not sealed against shrinking");
  struct stat status {};
  struct statfs system {};
  if (::fstat(descriptor, &status) != 0 || ::fstatfs(descriptor, &system) != 0) return invalid("no file");
  if (!S_ISREG(status.st_mode) || system.f_type != TMPFS_MAGIC) return invalid("not a memory file");
  int flags = ::fcntl(descriptor, F_GETFL);
  if (flags < 0 || (flags & O_ACCMODE) != O_RDWR || (flags & O_PATH) != 0) return invalid("not open for both ways");
  return status;
}

}  // namespace

Result<MemoryFile> MemoryFile::open(Fd descriptor, uint64_t offered_bytes) {
  Result<struct stat> status = check_kind(descriptor.get());
  if (!status) return status.error();
  auto bytes = static_cast<uint64_t>(status->st_size);
  if (offered_bytes != 0 && bytes != offered_bytes) return invalid("the file has another size than was said");
  return MemoryFile(std::move(descriptor), bytes, status->st_dev, status->st_ino);
}

MemoryFile::~MemoryFile() {
  if (mapping_ != nullptr) ::munmap(mapping_, mapped_bytes_);
}

uint64_t MemoryFile::memory_bytes() const {
  constexpr uint64_t kBlockBytes = 512;  // stat(2) says so
  struct stat status {};
  return ::fstat(descriptor_.get(), &status) == 0 ? static_cast<uint64_t>(status.st_blocks) * kBlockBytes : 0;
}

size_t MemoryFile::read(uint64_t offset, char* into, size_t bytes) const {
  size_t done = 0;
  while (done < bytes) {
    ssize_t got = ::pread(descriptor_.get(), into + done, bytes - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    done += static_cast<size_t>(got);
  }
  return done;
}

Result<> MemoryFile::map(size_t bytes) {
  void* mapping = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_.get(), 0);
  if (mapping == MAP_FAILED) return invalid("cannot be mapped; is it sealed against writing?");
  mapping_ = static_cast<char*>(mapping);
  mapped_bytes_ = bytes;
  return {};
}

}  // namespace fathom::agent

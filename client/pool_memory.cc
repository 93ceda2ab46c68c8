#include "client/pool_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif
#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 8U
#endif

namespace fathom::client {
namespace {

// Low numbers are left to programs that count on getting them.
constexpr int kLowestFd = 64;

int raise_fd(int fd) {
  const int raised = fcntl(fd, F_DUPFD_CLOEXEC, kLowestFd);
  if (raised < 0) return fd;
  close(fd);
  return raised;
}

// Kernels before 6.3 do not know the flag; some later ones are set up to insist on it.
int make_file(const char* name) {
  int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL);
  if (fd < 0 && errno == EINVAL) fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
  return fd < 0 ? fd : raise_fd(fd);
}

bool size_and_seal(int fd, size_t bytes) {
  return ftruncate(fd, static_cast<off_t>(bytes)) == 0 &&
         fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0;
}

char* map_file(int fd, size_t bytes) {
  void* base = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  return base == MAP_FAILED ? nullptr : static_cast<char*>(base);
}

}  // namespace

int make_memory_file(const char* name, size_t bytes) {
  const int fd = make_file(name);
  if (fd < 0 || size_and_seal(fd, bytes)) return fd;
  const int reason = errno;
  close(fd);
  errno = reason;
  return -1;
}

MadePool map_memory_file(int fd, size_t bytes, size_t present_bytes) {
  char* base = map_file(fd, bytes);
  // Reserved now, because a page that cannot be had later would be a SIGBUS.
  if (base != nullptr && fallocate(fd, 0, 0, static_cast<off_t>(present_bytes)) == 0) return {base, fd};
  const int reason = errno;
  if (base != nullptr) munmap(base, bytes);
  errno = reason;
  return {};
}

MadePool make_shared_memory(const char* name, size_t bytes, size_t present_bytes) {
  const int fd = make_memory_file(name, bytes);
  if (fd < 0) return {};
  const MadePool made = map_memory_file(fd, bytes, present_bytes);
  if (made.base != nullptr) return made;
  const int reason = errno;
  close(fd);
  errno = reason;
  return {};
}

void drop_shared_memory(const MadePool& made, size_t bytes) {
  if (made.base != nullptr) munmap(made.base, bytes);
  if (made.fd >= 0) close(made.fd);
}

MadePool make_pool_memory(const PoolGeometry& places) {
  const bool has_slots = places.open_offset != places.chunks_offset;
  return make_shared_memory("fathom-pool", places.bytes,
                            places.open_offset + (has_slots ? sizeof(pool::TriggerPage) : 0));
}

void write_header(pool::Header& header, uint32_t chunk_count, uint32_t thread_slots, pool::Clock clock,
                  const uint8_t process_id[16]) {
  const PoolGeometry places = geometry(chunk_count, thread_slots);
  header.version = pool::kVersion;
  header.clock = clock;
  header.chunk_bytes = pool::kChunkBytes;
  header.chunk_count = chunk_count;
  header.thread_slots = thread_slots;
  header.chunks_offset = places.chunks_offset;
  header.resource_offset = places.resource_offset;
  std::memcpy(header.process_id, process_id, sizeof header.process_id);
}

void scatter_epochs(pool::ChunkEntry* entries, uint32_t chunk_count, uint64_t random) {
  for (uint32_t i = 0; i < chunk_count; i++) {
    random = random * 6364136223846793005 + 1442695040888963407;  // Knuth's MMIX; only the upper half is random
    entries[i].state.store(pool::pack_state(static_cast<uint32_t>(random >> 32), pool::kFree),
                           std::memory_order_relaxed);
  }
}

void finish_header(pool::Header& header) {
  std::atomic_ref<uint64_t>(header.magic).store(pool::kMagic, std::memory_order_release);
}

bool make_present(char* begin, size_t bytes) {
  const ErrnoKept errno_kept;
  return madvise(begin, bytes, MADV_POPULATE_WRITE) == 0 || (errno != ENOMEM && errno != EFAULT);
}

FileIdentity file_identity(int fd) {
  struct stat file;
  if (fd < 0 || fstat(fd, &file) != 0) return {};
  return {file.st_dev, file.st_ino};
}

}  // namespace fathom::client

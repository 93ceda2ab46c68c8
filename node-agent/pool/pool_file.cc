#include "node-agent/pool/pool_file.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <algorithm>
#include <cstring>

namespace fathom::agent {

namespace {

// What the program wrote before it handed the file over, as plain words: a copy cannot change.
struct HeaderCopy {
  uint64_t magic;
  uint32_t version;
  uint32_t clock;
  uint32_t chunk_bytes;
  uint32_t chunk_count;
  uint64_t chunks_offset;
  uint64_t resource_offset;
  uint8_t process_id[16];
};
static_assert(offsetof(HeaderCopy, process_id) == offsetof(pool::Header, process_id));

size_t read_all(int descriptor, char* into, size_t bytes, uint64_t offset) {
  size_t done = 0;
  while (done < bytes) {
    ssize_t got = ::pread(descriptor, into + done, bytes - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    done += static_cast<size_t>(got);
  }
  return done;
}

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

uint64_t entries_end(uint32_t chunk_count) {
  return pool::kPageBytes + uint64_t{chunk_count} * sizeof(pool::ChunkEntry);
}

Result<> check_shape(const HeaderCopy& header, uint64_t file_bytes) {
  if (header.magic != pool::kMagic) return invalid("not a span pool");
  if (header.version != pool::kVersion)
    return Error{ErrorCode::kUnsupported, "a span pool of version " + std::to_string(header.version)};
  if (header.clock != static_cast<uint32_t>(pool::Clock::kTsc) &&
      header.clock != static_cast<uint32_t>(pool::Clock::kMonotonic))
    return Error{ErrorCode::kUnsupported, "a clock of kind " + std::to_string(header.clock)};
  if (header.chunk_bytes < pool::kMostRecordBytes || header.chunk_bytes > PoolFile::kMostChunkBytes ||
      header.chunk_bytes % pool::kPageBytes != 0)
    return invalid("chunks of " + std::to_string(header.chunk_bytes) + " bytes");
  if (header.chunk_count == 0 || header.chunk_count > pool::kMostChunks)
    return invalid(std::to_string(header.chunk_count) + " chunks");
  uint64_t chunks_bytes = uint64_t{header.chunk_count} * header.chunk_bytes;
  if (file_bytes < chunks_bytes || header.chunks_offset != file_bytes - chunks_bytes)
    return invalid("the file's size is not what its header adds up to");
  if (header.chunks_offset < pool::kResourceBytes || header.resource_offset < entries_end(header.chunk_count) ||
      header.resource_offset > header.chunks_offset - pool::kResourceBytes)
    return invalid("areas of the pool overlap");
  return {};
}

PoolShape shape_of(const HeaderCopy& header, const struct stat& status) {
  PoolShape shape{.clock = static_cast<pool::Clock>(header.clock),
                  .chunk_bytes = header.chunk_bytes,
                  .chunk_count = header.chunk_count,
                  .chunks_offset = header.chunks_offset,
                  .resource_offset = header.resource_offset,
                  .device = status.st_dev,
                  .inode = status.st_ino};
  std::memcpy(shape.process_id.data(), header.process_id, shape.process_id.size());
  return shape;
}

}  // namespace

Result<PoolFile> PoolFile::open(Fd descriptor, uint64_t offered_bytes) {
  Result<struct stat> status = check_kind(descriptor.get());
  if (!status) return status.error();
  auto file_bytes = static_cast<uint64_t>(status->st_size);
  if (offered_bytes != 0 && file_bytes != offered_bytes) return invalid("the file has another size than was said");
  HeaderCopy header{};
  if (read_all(descriptor.get(), reinterpret_cast<char*>(&header), sizeof header, 0) != sizeof header)
    return invalid("too short for a header");
  Result<> fits = check_shape(header, file_bytes);
  if (!fits) return fits.error();
  PoolShape shape = shape_of(header, *status);
  size_t mapped_bytes = entries_end(shape.chunk_count);
  void* mapping = ::mmap(nullptr, mapped_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor.get(), 0);
  if (mapping == MAP_FAILED) return invalid("cannot be mapped; is it sealed against writing?");
  return PoolFile(std::move(descriptor), shape, mapping, mapped_bytes);
}

PoolFile::~PoolFile() {
  if (mapping_ != nullptr) ::munmap(mapping_, mapped_bytes_);
}

uint32_t PoolFile::chunks_used() const {
  return std::min(header().chunks_used.load(std::memory_order_acquire), shape_.chunk_count);
}

uint64_t PoolFile::memory_bytes() const {
  constexpr uint64_t kBlockBytes = 512;  // stat(2) says so
  struct stat status {};
  return ::fstat(descriptor_.get(), &status) == 0 ? static_cast<uint64_t>(status.st_blocks) * kBlockBytes : 0;
}

size_t PoolFile::read_chunk(uint32_t chunk, uint32_t begin, uint32_t end, char* into) const {
  uint64_t offset = shape_.chunks_offset + uint64_t{chunk} * shape_.chunk_bytes + begin;
  return read_all(descriptor_.get(), into, end - begin, offset);
}

std::string PoolFile::read_resource(uint32_t bytes) const {
  std::string text(std::min(bytes, pool::kResourceBytes), '\0');
  text.resize(read_all(descriptor_.get(), text.data(), text.size(), shape_.resource_offset));
  return text;
}

}  // namespace fathom::agent

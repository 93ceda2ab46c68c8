#include "node-agent/pool/pool_file.h"

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
  uint32_t pid;
  uint32_t thread_slots;
};
static_assert(offsetof(HeaderCopy, process_id) == offsetof(pool::Header, process_id) &&
              offsetof(HeaderCopy, thread_slots) == offsetof(pool::Header, thread_slots));

uint64_t entries_end(uint32_t chunk_count) {
  return pool::kPageBytes + uint64_t{chunk_count} * sizeof(pool::ChunkEntry);
}

uint64_t open_offset(const HeaderCopy& header) {
  return header.chunks_offset - pool::open_area_bytes(header.thread_slots);
}

// Area 5 ends where the chunks begin, and is to be mapped.
Result<> check_open_area(const HeaderCopy& header) {
  if (header.thread_slots > pool::kMostThreadSlots)
    return invalid(std::to_string(header.thread_slots) + " slots of threads");
  if (header.chunks_offset < pool::open_area_bytes(header.thread_slots)) return invalid("areas of the pool overlap");
  if (header.thread_slots != 0 && open_offset(header) % pool::kPageBytes != 0)
    return invalid("slots of threads that begin on no page");
  return {};
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
  if (Result<> slots = check_open_area(header); !slots) return slots;
  if (open_offset(header) < pool::kResourceBytes || header.resource_offset < entries_end(header.chunk_count) ||
      header.resource_offset > open_offset(header) - pool::kResourceBytes)
    return invalid("areas of the pool overlap");
  return {};
}

PoolShape shape_of(const HeaderCopy& header, const MemoryFile& file) {
  PoolShape shape{.clock = static_cast<pool::Clock>(header.clock),
                  .chunk_bytes = header.chunk_bytes,
                  .chunk_count = header.chunk_count,
                  .chunks_offset = header.chunks_offset,
                  .resource_offset = header.resource_offset,
                  .thread_slots = header.thread_slots,
                  .open_offset = open_offset(header),
                  .device = file.device(),
                  .inode = file.inode()};
  std::memcpy(shape.process_id.data(), header.process_id, shape.process_id.size());
  return shape;
}

}  // namespace

Result<PoolFile> PoolFile::open(Fd descriptor, uint64_t offered_bytes) {
  Result<MemoryFile> file = MemoryFile::open(std::move(descriptor), offered_bytes);
  if (!file) return file.error();
  HeaderCopy header{};
  if (file->read(0, reinterpret_cast<char*>(&header), sizeof header) != sizeof header)
    return invalid("too short for a header");
  Result<> fits = check_shape(header, file->bytes());
  if (!fits) return fits.error();
  PoolShape shape = shape_of(header, *file);
  Result<> mapped = file->map(entries_end(shape.chunk_count));
  if (!mapped) return mapped.error();
  return PoolFile(*std::move(file), shape);
}

uint32_t PoolFile::chunks_used() const {
  return std::min(header().chunks_used.load(std::memory_order_acquire), shape_.chunk_count);
}

size_t PoolFile::read_chunk(uint32_t chunk, uint32_t begin, uint32_t end, char* into) const {
  uint64_t offset = shape_.chunks_offset + uint64_t{chunk} * shape_.chunk_bytes + begin;
  return file_.read(offset, into, end - begin);
}

std::string PoolFile::read_resource(uint32_t bytes) const {
  std::string text(std::min(bytes, pool::kResourceBytes), '\0');
  text.resize(file_.read(shape_.resource_offset, text.data(), text.size()));
  return text;
}

}  // namespace fathom::agent

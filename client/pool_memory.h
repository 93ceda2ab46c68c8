// Making a span pool: the memory file, its seals, its header.
//
// Purpose: geometry in one place. Thread safety: system calls and stack only, so from signal handlers too. Ownership:
// the caller's, the file descriptor as well as the mapping. Errors: null, with errno's reason.
#pragma once

#include "client/chunks.h"

namespace fathom::client {

struct PoolGeometry {
  size_t resource_offset;
  size_t chunks_offset;
  size_t bytes;
};
constexpr PoolGeometry geometry(uint32_t chunk_count) {
  const size_t entries_end = pool::kPageBytes + size_t{chunk_count} * sizeof(pool::ChunkEntry);
  const size_t resource = (entries_end + pool::kPageBytes - 1) / pool::kPageBytes * pool::kPageBytes;
  const size_t chunks = resource + pool::kResourceBytes;
  return {resource, chunks, chunks + size_t{chunk_count} * pool::kChunkBytes};
}

// All of the header but its magic number, which says that the rest is there and comes last.
void write_header(pool::Header& header, uint32_t chunk_count, pool::Clock clock, const uint8_t process_id[16]);
void finish_header(pool::Header& header);
// Epochs begin anywhere: what earlier laps left in a chunk, ids and numbers and texts, must not look like a word of its
// epoch.
void scatter_epochs(pool::ChunkEntry* entries, uint32_t chunk_count, uint64_t random);

struct MadePool {
  char* base = nullptr;
  int fd = -1;
};
// An empty file of that size, sealed; negative, with errno's reason.
int make_memory_file(const char* name, size_t bytes);
// Maps such a file; of its begin so many bytes are there. The caller keeps the descriptor when it cannot be.
MadePool map_memory_file(int fd, size_t bytes, size_t present_bytes);
// Both.
MadePool make_shared_memory(const char* name, size_t bytes, size_t present_bytes);
void drop_shared_memory(const MadePool& made, size_t bytes);
// A span pool's; its pages before the chunks are there.
MadePool make_pool_memory(uint32_t chunk_count);
void drop_pool_memory(const MadePool& made, uint32_t chunk_count);

// The file, seen from outside: whether a descriptor is still the one that was made.
struct FileIdentity {
  uint64_t device = 0;
  uint64_t inode = 0;
  bool operator==(const FileIdentity&) const = default;
};
FileIdentity file_identity(int fd);

}  // namespace fathom::client

// Making a span pool: the memory file, its seals, its header.
//
// Purpose: geometry in one place. Thread safety: system calls and stack only, so from signal handlers too. Ownership:
// the caller's, the file descriptor as well as the mapping. Errors: null, with errno's reason.
#pragma once

#include "client/chunks.h"
#include "client/pool/open_spans.h"

namespace fathom::client {

struct PoolGeometry {
  size_t resource_offset;
  size_t open_offset;  // of area 5; where the chunks begin when there is none
  size_t chunks_offset;
  size_t bytes;
};
// Slots by whole pages of them, so that what is behind begins on one.
constexpr PoolGeometry geometry(uint32_t chunk_count, uint32_t thread_slots) {
  const size_t entries_end = pool::kPageBytes + size_t{chunk_count} * sizeof(pool::ChunkEntry);
  const size_t resource = (entries_end + pool::kPageBytes - 1) / pool::kPageBytes * pool::kPageBytes;
  const size_t open = resource + pool::kResourceBytes;
  const size_t chunks = open + pool::open_area_bytes(thread_slots);
  return {resource, open, chunks, chunks + size_t{chunk_count} * pool::kChunkBytes};
}
// A thread that finishes spans needs a chunk and a slot.
constexpr uint32_t thread_slots_for(uint32_t chunk_count) {
  return chunk_count < pool::kMostThreadSlots ? chunk_count : pool::kMostThreadSlots;
}

// All of the header but its magic number, which says that the rest is there and comes last.
void write_header(pool::Header& header, uint32_t chunk_count, uint32_t thread_slots, pool::Clock clock,
                  const uint8_t process_id[16]);
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
// A span pool's; its pages before the slots and the chunks are there.
MadePool make_pool_memory(const PoolGeometry& places);

// One call instead of a fault per page; and where memory is accounted strictly, the one that says no (false) instead of
// a SIGBUS.
bool make_present(char* begin, size_t bytes);

// The file, seen from outside: whether a descriptor is still the one that was made.
struct FileIdentity {
  uint64_t device = 0;
  uint64_t inode = 0;
  bool operator==(const FileIdentity&) const = default;
};
FileIdentity file_identity(int fd);

}  // namespace fathom::client

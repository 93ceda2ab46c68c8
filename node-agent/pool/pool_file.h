// PoolFile: the shared memory of one program, checked once and then read without trusting it.
//
// Purpose: the header page and the chunks' entries are mapped (the agent writes its own words there), everything else
// is copied by pread() (memory_file.h). docs/formats/span-pool.md has the layout. Thread safety: none. Ownership: of
// the memory file. Errors: open() gives kUnsupported for a version this agent does not know, kInvalid for what is no
// pool. Hostility: the shape is a validated copy; header() and entry() are the program's to change at any time: load
// once, then check the copy.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <utility>

#include "base/fd.h"
#include "base/result.h"
#include "client/pool/layout.h"
#include "client/pool/open_spans.h"
#include "node-agent/pool/memory_file.h"

namespace fathom::agent {

struct PoolShape {
  pool::Clock clock = pool::Clock::kTsc;
  uint32_t chunk_bytes = 0;
  uint32_t chunk_count = 0;
  uint64_t chunks_offset = 0;
  uint64_t resource_offset = 0;
  uint32_t thread_slots = 0;  // 0: the pool has no area 5
  uint64_t open_offset = 0;   // of area 5, on a page
  std::array<uint8_t, 16> process_id{};
  uint64_t device = 0;  // with inode: which memory this is, however often its descriptor is handed over
  uint64_t inode = 0;
};

class PoolFile {
 public:
  static constexpr uint32_t kMostChunkBytes = 64 * 1024;

  // `offered_bytes`: the size that the program says; 0 for a pool that was kept from before.
  static Result<PoolFile> open(Fd descriptor, uint64_t offered_bytes);

  const PoolShape& shape() const { return shape_; }
  pool::Header& header() const { return *reinterpret_cast<pool::Header*>(file_.mapping()); }
  pool::ChunkEntry& entry(uint32_t chunk) const {
    return reinterpret_cast<pool::ChunkEntry*>(file_.mapping() + pool::kPageBytes)[chunk];
  }
  // How many chunks have been in use so far, as the program says, but never more than there are.
  uint32_t chunks_used() const;
  // Bytes [begin, end) of a chunk; how many there were (the file cannot shrink, so anything but all is a system's
  // fault).
  size_t read_chunk(uint32_t chunk, uint32_t begin, uint32_t end, char* into) const;
  std::string read_resource(uint32_t bytes) const;
  int descriptor() const { return file_.descriptor(); }
  const MemoryFile& memory() const { return file_; }
  uint64_t memory_bytes() const { return file_.memory_bytes(); }  // what it takes of this host, as the kernel says

 private:
  PoolFile(MemoryFile file, const PoolShape& shape) : file_(std::move(file)), shape_(shape) {}

  MemoryFile file_;
  PoolShape shape_;
};

}  // namespace fathom::agent

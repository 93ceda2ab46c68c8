// PoolFile: the shared memory of one program, checked once and then read without trusting it.
//
// Purpose: the header page and the chunks' entries are mapped (the agent writes its own words there), everything else
// is copied by pread(): memory that the program changes, or has no pages for, cannot fault us or change under a check.
// docs/formats/span-pool.md has the layout. Thread safety: none. Ownership: of the descriptor and the mapping. Errors:
// open() gives kUnsupported for a version this agent does not know, kInvalid for what is no pool. Hostility: the shape
// is a validated copy; header() and entry() are the program's to change at any time: load once, then check the copy.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <utility>

#include "base/fd.h"
#include "base/result.h"
#include "client/pool/layout.h"

namespace fathom::agent {

struct PoolShape {
  pool::Clock clock = pool::Clock::kTsc;
  uint32_t chunk_bytes = 0;
  uint32_t chunk_count = 0;
  uint64_t chunks_offset = 0;
  uint64_t resource_offset = 0;
  std::array<uint8_t, 16> process_id{};
  uint64_t device = 0;  // with inode: which memory this is, however often its descriptor is handed over
  uint64_t inode = 0;
};

class PoolFile {
 public:
  static constexpr uint32_t kMostChunkBytes = 64 * 1024;

  // `offered_bytes`: the size that the program says; 0 for a pool that was kept from before.
  static Result<PoolFile> open(Fd descriptor, uint64_t offered_bytes);
  PoolFile(PoolFile&& other) noexcept
      : descriptor_(std::move(other.descriptor_)),
        shape_(other.shape_),
        mapping_(std::exchange(other.mapping_, nullptr)),
        mapped_bytes_(other.mapped_bytes_) {}
  PoolFile& operator=(PoolFile&&) = delete;
  ~PoolFile();

  const PoolShape& shape() const { return shape_; }
  pool::Header& header() const { return *static_cast<pool::Header*>(mapping_); }
  pool::ChunkEntry& entry(uint32_t chunk) const {
    return reinterpret_cast<pool::ChunkEntry*>(static_cast<char*>(mapping_) + pool::kPageBytes)[chunk];
  }
  // How many chunks have been in use so far, as the program says, but never more than there are.
  uint32_t chunks_used() const;
  // Bytes [begin, end) of a chunk; how many there were (the file cannot shrink, so anything but all is a system's
  // fault).
  size_t read_chunk(uint32_t chunk, uint32_t begin, uint32_t end, char* into) const;
  std::string read_resource(uint32_t bytes) const;
  int descriptor() const { return descriptor_.get(); }
  uint64_t memory_bytes() const;  // what it takes of this host, as the kernel says

 private:
  PoolFile(Fd descriptor, const PoolShape& shape, void* mapping, size_t mapped_bytes)
      : descriptor_(std::move(descriptor)), shape_(shape), mapping_(mapping), mapped_bytes_(mapped_bytes) {}

  Fd descriptor_;
  PoolShape shape_;
  void* mapping_;
  size_t mapped_bytes_;
};

}  // namespace fathom::agent

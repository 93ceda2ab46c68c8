// DetailFile: the detail pool of one program, checked once and then read without trusting it.
//
// Purpose: the header page and the chunks' entries are mapped, because a reader changes states; everything else is
// copied by pread() (node-agent/pool/memory_file.h). docs/formats/pool.md has the layout. Thread safety: none.
// Ownership: of the memory file. Errors: open() gives kUnsupported for a version, a clock or a mode that this agent
// does not know, kInvalid for what is no detail pool. Hostility: the shape is a validated copy; header() and entry()
// are the program's to change at any time: load once, then check the copy.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "base/fd.h"
#include "base/result.h"
#include "client/pool/detail_layout.h"
#include "node-agent/pool/memory_file.h"

namespace fathom::agent {

struct DetailShape {
  pool::Clock clock = pool::Clock::kTsc;
  pool::DetailMode mode = pool::DetailMode::kOverwrite;
  uint32_t large_chunks = 0;
  uint32_t small_chunks = 0;
  uint32_t pid = 0;  // as the program sees it; for people
  uint64_t table_offset = 0;
  uint64_t chunks_offset = 0;
  std::array<uint8_t, 16> process_id{};

  uint32_t chunks() const { return large_chunks + small_chunks; }
  bool is_small(uint32_t chunk) const { return chunk >= large_chunks; }
  uint32_t chunk_bytes(uint32_t chunk) const { return is_small(chunk) ? pool::kSmallBytes : pool::kLargeBytes; }
  uint64_t chunk_offset(uint32_t chunk) const {
    return chunks_offset + uint64_t{chunk} * pool::kStrideBytes + pool::kChunkEnd - chunk_bytes(chunk);
  }
};

using DetailLossCounts = std::array<uint64_t, pool::kDetailLosses>;

class DetailFile {
 public:
  // `offered_bytes`: the size that the program says; 0: it says none.
  static Result<DetailFile> open(Fd descriptor, uint64_t offered_bytes);

  const DetailShape& shape() const { return shape_; }
  pool::DetailHeader& header() const { return *reinterpret_cast<pool::DetailHeader*>(file_.mapping()); }
  pool::DetailEntry& entry(uint32_t chunk) const {
    return reinterpret_cast<pool::DetailEntry*>(file_.mapping() + pool::kPageBytes)[chunk];
  }
  const MemoryFile& memory() const { return file_; }

  // `bytes` of a chunk from `offset` on; it has chunk_bytes(). False: the system did not give all.
  bool read_chunk(uint32_t chunk, uint32_t offset, char* into, size_t bytes) const;
  std::string read_table() const;
  DetailLossCounts losses() const;  // by pool::DetailLoss, as the program counts them

 private:
  DetailFile(MemoryFile file, const DetailShape& shape) : file_(std::move(file)), shape_(shape) {}

  MemoryFile file_;
  DetailShape shape_;
};

}  // namespace fathom::agent

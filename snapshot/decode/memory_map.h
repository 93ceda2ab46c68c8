// MemoryMap: which image a process showed at an address at a time, from the sideband.
//
// Purpose: the one reading of the history of processes, for decoding and for symbols alike. Thread safety: const after
// construction. Errors: contradictory records are settled by order: the later map wins where two overlap. Hostile
// input: ranges that wrap or are not executable are ignored and counted.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "snapshot/format/snapshot.h"

namespace fathom::snapshot {

struct MappedRange {
  uint64_t begin = 0;
  uint64_t end = 0;
  uint64_t file_offset = 0;  // of `begin`, in the image
  uint32_t image = kNoImage;
};

class MemoryMap {
 public:
  explicit MemoryMap(const Snapshot& snapshot);
  ~MemoryMap();
  MemoryMap(MemoryMap&&) noexcept;

  // All ranges of a process at a time, kernel included, sorted and without overlap. Valid as long as the map.
  // Two equal pointers mean the same address space, so callers cache by it.
  std::span<const MappedRange> ranges(int32_t pid, uint64_t tsc) const;
  std::optional<MappedRange> find(int32_t pid, uint64_t tsc, uint64_t address) const;
  uint64_t ignored() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace fathom::snapshot

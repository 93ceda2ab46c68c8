// MemoryMap: which image a process showed at an address at a time, from the sideband.
//
// Purpose: the one reading of the history of processes, for decoding and for symbols alike. Thread safety: const after
// construction. Memory: bounded; where maps change too often, changes are put together and hold from the first of them
// on. Errors: contradictory records are settled by order: the later map wins where two overlap. Code that was patched
// (kTextPoke) has its old bytes before and its new ones after. Hostile input: ranges that wrap or are not executable
// are ignored and counted.
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
  uint32_t patch = 0;  // not 0: code_patches.h has its bytes, not the image
};

// What a process shows from a time on, and until when.
struct AddressSpace {
  std::span<const MappedRange> ranges;
  uint64_t until = UINT64_MAX;  // the first tsc at which another answer may hold
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
  // ranges() for who goes forward in time.
  AddressSpace space(int32_t pid, uint64_t tsc) const;
  // The next address space of the process behind `tsc` that shows `address`: packets tell time late, maps do not.
  std::optional<AddressSpace> later_space(int32_t pid, uint64_t tsc, uint64_t address) const;
  uint64_t ignored() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// The range that holds `address`; nullptr when there is none.
const MappedRange* find_range(std::span<const MappedRange> ranges, uint64_t address);

}  // namespace fathom::snapshot

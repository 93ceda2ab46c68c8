// CodeNames: function, image and source line of an address in a process at a time.
//
// Purpose: joins the map of memory with the images' symbols, for call stacks and for everybody who prints an address.
// Symbols are loaded when first asked for. Thread safety: const functions from any thread. Ownership: keeps references
// to the snapshot and the map, which outlive it; what it returns lives as long as it does. Errors: none; unknown is an
// answer.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "snapshot/decode/memory_map.h"
#include "snapshot/format/directory.h"
#include "snapshot/format/snapshot.h"
#include "snapshot/symbols/image_symbols.h"

namespace fathom::snapshot {

struct CodePlace {
  const Function* function = nullptr;  // nullptr: no symbol covers the address
  const Image* image = nullptr;        // nullptr: nothing is known to be mapped there
  // The extent, in the process's addresses, in which the same answer holds: a function's, or a stretch without symbols.
  uint64_t begin = 0;
  uint64_t end = 0;
  uint64_t image_offset = 0;     // of the address that was asked for
  uint64_t function_offset = 0;  // of the address, from the function's first one
};

// As people write it: "shop::handle(Request&)", "[vdso]+0x7f0", "libc.so.6+0x1234", "0x7f001234" (without the offset in
// a function).
std::string place_name(const CodePlace& place, uint64_t ip);
// "0x401000", as answers write addresses, in JSON too (a double would lose digits).
std::string hex_address(uint64_t address);

class CodeNames {
 public:
  CodeNames(const Snapshot& snapshot, const SnapshotDirectory& directory, const MemoryMap& map);
  ~CodeNames();

  CodePlace find(int32_t pid, uint64_t tsc, uint64_t ip) const;
  // As ImageSymbols has them: the instruction's own line, that of the function around it, and all between the two.
  std::optional<SourceLine> line(int32_t pid, uint64_t tsc, uint64_t ip) const;
  std::optional<SourceLine> own_line(int32_t pid, uint64_t tsc, uint64_t ip) const;
  std::vector<SourceFrame> frames(int32_t pid, uint64_t tsc, uint64_t ip) const;
  // Of an image by its number; nullptr when there is no such image.
  const ImageSymbols* symbols(uint32_t image) const;
  // The kernel's functions of a name, as ImageSymbols::named() takes it; their extents are addresses.
  std::vector<const Function*> kernel_named(std::string_view name) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace fathom::snapshot

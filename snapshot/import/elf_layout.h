// ElfLayout: where an ELF file wants its segments to lie, and its build-id. No sections, no symbols.
//
// Purpose: what an importer must know of an image to place it. Thread safety: plain values. Errors: kInvalid when the
// file is no ELF file of x86, kCorrupt when its headers point outside of it, kInternal (the system's words). The file
// is hostile input: headers are few and bounded.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"

namespace fathom::snapshot {

inline constexpr uint64_t kUpperHalf = uint64_t{1} << 63;  // of the address space: the kernel's

struct ElfSegment {
  uint64_t address = 0;
  uint64_t file_offset = 0;
  uint64_t file_bytes = 0;
  bool executable = false;
};

struct ElfLayout {
  std::vector<ElfSegment> segments;  // PT_LOAD with bytes in the file
  std::string build_id;              // raw; empty: none
  bool core = false;                 // ET_CORE: memory as it was, /proc/kcore for one
  bool cut_short = false;            // segments have more bytes than the file

  // The lowest page of its segments, from which on a base counts. Of segments in the other half of the address space
  // than code (the per-processor data of a kernel, at 0) there is no word.
  uint64_t lowest_page() const;
};

// Whether these bytes begin like an ELF file's.
Result<bool> is_elf_file(const Fd& file);
Result<ElfLayout> read_elf_layout(const Fd& file, const std::string& name);
Result<ElfLayout> read_elf_layout(const std::string& path);

}  // namespace fathom::snapshot

// The kernel's own code, copied out of /proc/kcore with the names of /proc/kallsyms.
//
// Purpose: the kernel rewrites its code while it runs, so no file has what ran; what lies in memory when recording is
// armed does, and text pokes tell the rest. Thread safety: as procfs. Errors: kUnsupported with the cure where a user
// may not read it (then the kernel's code is a missing image, with that reason). Content is treated as hostile.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "snapshot/record/pt/perf_system.h"

namespace fathom::snapshot {

struct KernelSymbol {
  uint64_t address = 0;
  uint64_t bytes = 0;  // up to the next one
  std::string name;
};

// Code between two addresses, and where it lies in the image.
struct KernelRange {
  uint64_t address = 0;
  uint64_t bytes = 0;
  uint64_t file_offset = 0;
};

struct KernelText {
  std::string image;  // an ELF file (code_image.h)
  std::vector<KernelRange> ranges;
};

// Symbols of code, by address. kUnsupported when the addresses are hidden.
Result<std::vector<KernelSymbol>> parse_kallsyms(std::string_view text);
// Neighbours are one range; pages between two are copied when they are few.
std::vector<KernelRange> ranges_of(const std::vector<KernelSymbol>& symbols);
Result<KernelText> read_kernel_text(const PerfSystem& system);

}  // namespace fathom::snapshot

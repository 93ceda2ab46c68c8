// KernelNames: the functions of the kernel by address, over time: modules and BPF programs come and go.
//
// Purpose: the kernel's text has no symbols of its own in a snapshot; sideband has them (kKernelSymbol), or an image
// that is what /proc/kallsyms said. Thread safety: const after construction. Ownership: owns the functions, whose begin
// and end are addresses. Errors: none; what is contradictory is left out. Hostile input: limits hold.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "snapshot/format/snapshot.h"
#include "snapshot/symbols/image_symbols.h"

namespace fathom::snapshot {

class KernelNames {
 public:
  explicit KernelNames(const Snapshot& snapshot);

  // Lines as in /proc/kallsyms: "ffffffff81000000 T _text".
  void read_kallsyms(std::string_view text);
  void settle();

  // The function at an address, and the addresses in which it is the answer.
  FunctionExtent find(uint64_t address, uint64_t tsc) const;
  std::vector<const Function*> named(std::string_view name) const;
  bool empty() const { return names_.empty(); }

 private:
  struct Name {
    Function function;
    uint64_t from_tsc = 0;
    uint64_t until_tsc = UINT64_MAX;
  };
  void end(const Sideband& row);

  std::vector<Name> names_;  // by begin, then by time
};

}  // namespace fathom::snapshot

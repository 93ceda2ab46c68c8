// Extents and names of functions for call stacks, out of a snapshot's maps and symbols.
//
// Thread safety: const functions from any thread. Ownership: keeps references to both, which outlive it. Errors: none;
// what nobody knows is named by its address.
#pragma once

#include <string>

#include "snapshot/decode/call_functions.h"
#include "snapshot/decode/code_names.h"
#include "snapshot/decode/memory_map.h"

namespace fathom::snapshot {

class SymbolExtents final : public CodeExtents {
 public:
  SymbolExtents(const CodeNames& names, const MemoryMap& map) : names_(names), map_(map) {}
  CodeExtent find(int32_t pid, uint64_t tsc, uint64_t ip) const override;
  const void* space(int32_t pid, uint64_t tsc) const override { return map_.ranges(pid, tsc).data(); }

 private:
  const CodeNames& names_;
  const MemoryMap& map_;
};

// "shop::handle(Request&)", "libc.so.6+0x1234" where it was called, "[libc.so.6]" where that is not known either,
// "[gap: overflow]".
std::string function_name(const CodeNames& names, const CallFunction& function);

}  // namespace fathom::snapshot

// InlinedCode: which functions the compiler put into others, at an address, by DWARF.
//
// Purpose: the line table tells where an instruction's own text is, which for an inlined function is a header; who
// wrote the call wants the line of the call. Units and functions are walked when first asked, and kept as extents, so
// that an address costs a search. Thread safety: none (libdw has none): callers lock. Ownership: the Dwarf outlives it.
// Errors: none; what is unknown, contradicts itself, or takes more than kMostWork is left out: no call is told then.
#pragma once

#include <elfutils/libdw.h>

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

namespace fathom::snapshot {

class InlinedCode {
 public:
  explicit InlinedCode(Dwarf* dwarf) : dwarf_(dwarf) {}

  struct Call {
    Dwarf_Off callee = 0;  // the inlined copy; its name is name_of()
    std::string file;      // empty: not known
    uint32_t line = 0;     // where it is called, in the text of the caller
  };
  // Innermost first; empty: the address is of the function itself, or nothing is known.
  std::vector<Call> calls_at(Dwarf_Off unit, uint64_t address);
  // Of the outermost call alone; false where there is none.
  bool outermost(Dwarf_Off unit, uint64_t address, Call& call);
  // Of a copy; demangled, "" where it has none.
  std::string name_of(Dwarf_Off die) const;
  // Where copies of the unit begin whose call is one of these; looks at all of its functions.
  std::vector<uint64_t> begins_of(Dwarf_Off unit, const std::function<bool(const Call& call)>& wanted);

 private:
  static constexpr uint32_t kNone = UINT32_MAX;

  struct Extent {
    uint64_t begin = 0;
    uint64_t end = 0;
    Dwarf_Off die = 0;
  };
  struct Copy {
    Dwarf_Off die = 0;
    uint32_t parent = kNone;  // the one that it is in
  };
  struct Function {
    std::vector<Copy> copies;
    std::vector<std::pair<uint64_t, uint32_t>> innermost;  // from an address on; kNone: the function itself
  };

  class Walk;
  const std::vector<Extent>& functions_of(Dwarf_Off unit);
  const Extent* function_extent(Dwarf_Off unit, uint64_t address);
  const Function* function_around(Dwarf_Off unit, uint64_t address);
  uint32_t innermost_at(const Function& function, uint64_t address) const;
  Call call_of(Dwarf_Off unit, const Copy& copy) const;

  Dwarf* const dwarf_;
  uint64_t work_ = 0;  // entries and ranges that were looked at
  size_t kept_copies_ = 0;
  std::unordered_map<Dwarf_Off, std::vector<Extent>> units_;
  std::unordered_map<Dwarf_Off, Function> functions_;
};

}  // namespace fathom::snapshot

// SymbolTable: which symbol covers an offset of a file, where symbols overlap, have aliases, or no size.
//
// Purpose: collects symbols from several tables, then settles into extents that do not overlap. Thread safety: const
// functions from any thread once settle() has run. Ownership: names are views of what who adds them keeps. Units:
// offsets in the image's file. Errors: none; what does not lie in code is left out. Hostile input: a limit holds.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace fathom::snapshot {

inline constexpr uint32_t kNoSymbol = UINT32_MAX;

struct Symbol {
  uint64_t begin = 0;
  uint64_t end = 0;         // begin: no size, it reaches to the next one, at most to `limit`
  uint64_t limit = 0;       // the end of the section around it
  std::string_view name;    // raw
  uint32_t preference = 0;  // of several at one place, the highest gives its name
};

class SymbolTable {
 public:
  // False: the table is full.
  bool add(const Symbol& symbol);
  void settle();

  struct Extent {
    uint32_t symbol = kNoSymbol;
    uint64_t begin = 0;
    uint64_t end = UINT64_MAX;
  };
  // The symbol at `offset`, or the stretch without one around it.
  Extent find(uint64_t offset) const;
  // Sorted by begin, with all their aliases.
  const std::vector<Symbol>& symbols() const { return symbols_; }

 private:
  void give_sizes();
  void cut();
  void put(uint64_t begin, uint64_t end, uint32_t symbol);

  std::vector<Symbol> symbols_;
  std::vector<Extent> extents_;
};

}  // namespace fathom::snapshot

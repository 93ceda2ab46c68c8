// SourceLines: file and line of an address, by DWARF (.debug_line of versions 2 to 5).
//
// Purpose: the only user of libdw's lines. Units are indexed by their own ranges when first asked, because
// .debug_aranges is optional and clang leaves it out. Thread safety: none (libdw has none): callers lock. Ownership:
// keeps a reference to the file. Errors: none; unknown is an answer. The file is hostile input: limits hold.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "snapshot/symbols/elf_file.h"
#include "snapshot/symbols/image_symbols.h"

namespace fathom::snapshot {

class SourceLines {
 public:
  explicit SourceLines(const ElfFile& file);

  bool available() const { return dwarf_ != nullptr; }
  std::optional<SourceLine> find(uint64_t address);
  // Where statements of the line begin; sorted. `file` may be the end of a path. Reads all units.
  std::vector<uint64_t> addresses(std::string_view file, uint32_t line);

 private:
  struct EndDwarf {
    void operator()(Dwarf* dwarf) const { dwarf_end(dwarf); }
  };
  struct Unit {
    uint64_t begin = 0;
    uint64_t end = 0;
    Dwarf_Off die = 0;
  };
  void index_units();
  void index_unit(Dwarf_Die& die);
  struct Rows {
    Dwarf_Lines* lines = nullptr;
    size_t count = 0;
  };
  Rows rows_of(Dwarf_Off die) const;
  const Unit* unit_at(uint64_t address) const;

  std::unique_ptr<Dwarf, EndDwarf> dwarf_;
  bool indexed_ = false;
  std::vector<Unit> units_;
};

}  // namespace fathom::snapshot

// SourceLines: file and line of an address, by DWARF (.debug_line of versions 2 to 5), and who inlined it.
//
// Purpose: the only user of libdw's lines. An address has one line, that of the last row at or before it; rows before
// that at the same address are of no instruction. Units are indexed by their own ranges when first asked, because
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
#include "snapshot/symbols/inlined_code.h"

namespace fathom::snapshot {

class SourceLines {
 public:
  explicit SourceLines(const ElfFile& file);

  bool available() const { return dwarf_ != nullptr; }
  std::optional<SourceLine> find(uint64_t address);
  // In the text of the function that the address is in: where code of another was inlined, the line of the call.
  std::optional<SourceLine> find_own(uint64_t address);
  // Innermost first, the function itself last and without its name, which symbols tell; one alone where nothing was
  // inlined, none where no line is known.
  std::vector<SourceFrame> frames(uint64_t address);
  // Where instructions of the line begin, statements if it has any; where it has none of its own, where those begin
  // that were inlined there. Sorted. `file` may be the end of a path. Reads all units.
  std::vector<uint64_t> addresses(std::string_view file, uint32_t line);
  // Whether a line may be of this file, whose path is whole. Reads the lists of files of all units.
  bool names(std::string_view file);

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
    Dwarf_Die unit{};
    Dwarf_Lines* lines = nullptr;
    size_t count = 0;
  };
  Rows rows_of(Dwarf_Off die) const;
  const Unit* unit_at(uint64_t address);
  struct WantedLine {
    std::string_view file;  // may be the end of a path
    uint32_t line = 0;
    uint64_t looks = 0;
    bool is_of(std::string_view path) const;
    bool is(std::string_view path, uint32_t number) const { return number == line && is_of(path); }
  };
  template <typename Matches>
  bool has_file(Dwarf_Off unit, uint64_t& looks, const Matches& matches) const;
  void add_begins(Dwarf_Off unit, WantedLine& wanted, bool statements, std::vector<uint64_t>& found) const;
  static std::optional<SourceLine> line_in(Rows& rows, uint64_t address);
  std::optional<SourceLine> line_at(Dwarf_Off unit, uint64_t address) const;

  std::unique_ptr<Dwarf, EndDwarf> dwarf_;
  std::unique_ptr<InlinedCode> inlined_;
  bool indexed_ = false;
  size_t ranges_ = 0;
  std::vector<Unit> units_;
};

}  // namespace fathom::snapshot

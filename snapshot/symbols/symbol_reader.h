// Symbols of an ELF file's tables, and of its procedure linkage tables.
//
// Thread safety: none (libelf has none). Ownership: names are views of the file that they were read from, or of
// `made_names`. Errors: none; what is damaged is left out. The files are hostile input.
#pragma once

#include <deque>
#include <string>

#include "snapshot/symbols/elf_file.h"
#include "snapshot/symbols/symbol_table.h"

namespace fathom::snapshot {

// Functions of the table of type `type` (SHT_SYMTAB, SHT_DYNSYM) of `from`, which belongs to `image`: the same file, or
// what was stripped off it. How many there were.
size_t read_symbols(const ElfFile& image, const ElfFile& from, uint32_t type, SymbolTable& table);

// .plt, .plt.sec, .plt.got: an entry is named after what its slot is filled with. `table` is settled, `out` is not.
void read_plt(const ElfFile& image, const SymbolTable& table, SymbolTable& out, std::deque<std::string>& made_names);

}  // namespace fathom::snapshot

// The GNU build-id of an ELF file, by its notes.
//
// Thread safety: pure functions. Errors: what is no ELF file of 64 bits, or has none, has an empty one. Hostile input:
// sizes are checked.
#pragma once

#include <string>

namespace fathom::snapshot::step {

bool is_elf(int file);
std::string elf_build_id(int file);

}  // namespace fathom::snapshot::step

// The GNU build-id of an ELF file: what tells whether a file is still the one that was mapped.
//
// Thread safety: as pread(2). Errors: empty where the file has none, is no ELF file, or is damaged: it is hostile.
#pragma once

#include <string>

namespace fathom::snapshot {

std::string read_build_id(int file);

}  // namespace fathom::snapshot

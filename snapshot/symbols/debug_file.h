// Where a distribution or a build keeps what it stripped off: separate debug files.
//
// Purpose: by build-id and by .gnu_debuglink, under a root ("/usr/lib/debug") and beside the file's original place;
// only one that belongs to the very file is taken (same build-id, or the checksum in the link). Nothing is fetched.
// Thread safety: pure functions. Errors: none; no file is an answer.
#pragma once

#include <optional>
#include <string>

#include "snapshot/symbols/elf_file.h"

namespace fathom::snapshot {

inline constexpr char kDebugRoot[] = "/usr/lib/debug";

std::optional<ElfFile> find_debug_file(const ElfFile& file, const std::string& original_path, const std::string& root);

}  // namespace fathom::snapshot

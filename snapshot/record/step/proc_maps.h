// What the kernel says of a process's memory: /proc/PID/maps, line by line.
//
// Thread safety: pure functions. Errors: a line that is not understood is left out; a process that is gone has none.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fathom::snapshot::step {

struct MappedFile {
  uint64_t begin = 0;
  uint64_t end = 0;
  uint64_t file_offset = 0;
  uint64_t device = 0;  // as in the text, major << 32 | minor
  uint64_t inode = 0;   // 0: no file
  bool writable = false;
  bool executable = false;
  std::string path;  // or "[vdso]", or nothing

  bool operator==(const MappedFile&) const = default;
};

std::vector<MappedFile> parse_maps(std::string_view text);
std::vector<MappedFile> read_maps(pid_t pid);

// The whole of a file of /proc, whose size nobody knows before; empty when it cannot be read.
std::string read_proc_file(const std::string& path);

}  // namespace fathom::snapshot::step

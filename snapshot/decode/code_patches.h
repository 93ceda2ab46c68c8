// CodePatches: the code that the kernel changed while it ran (kTextPoke), and when a MemoryMap shows which bytes.
//
// Purpose: an image has one state of the kernel's text; a patch says what lay there before it and after it. Thread
// safety: const functions from any thread. Ownership: refers to the snapshot's rows. Memory: the last kMostPatches rows
// and kMostTimes moments; what is older holds from the beginning on, or not at all. Errors: none; hostile rows are left
// out.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "snapshot/decode/memory_map.h"
#include "snapshot/format/snapshot.h"

namespace fathom::snapshot {

class CodePatches {
 public:
  static constexpr size_t kMostPatches = 4096;
  static constexpr size_t kMostTimes = 64;

  explicit CodePatches(const Snapshot& snapshot);

  struct Patch {
    uint64_t begin = 0;
    uint64_t end = 0;
    uint32_t patch = 0;  // MappedRange::patch
  };
  // Rows of the sideband by their index. Nothing: the row changes nothing.
  bool applies(size_t row) const;
  static Patch after(const Snapshot& snapshot, size_t row);
  // Whether the moment of the row is one of its own.
  bool own_time(const Sideband& row) const { return row.tsc >= first_time_; }
  // What lay in [begin, end) at the moment of row `row`, as later patches say: at most one for each address.
  std::vector<Patch> before(const Snapshot& snapshot, size_t row, uint64_t begin, uint64_t end) const;

 private:
  std::map<uint64_t, std::vector<size_t>> rows_;  // by address, in order
  size_t first_row_ = 0;
  uint64_t first_time_ = 0;
};

// The bytes of a range with a patch, from its beginning on.
std::string_view patch_bytes(const Snapshot& snapshot, const MappedRange& range);

// The bytes of all patches in one file, for libipt, which reads nothing else. It never changes.
class PatchFile {
 public:
  explicit PatchFile(const Snapshot& snapshot);

  const std::string& path() const { return path_; }
  // Where those of patch_bytes() begin in it.
  std::optional<uint64_t> offset(const MappedRange& range) const;

 private:
  const Snapshot& snapshot_;
  Fd file_;
  std::string path_;
  std::vector<uint64_t> offsets_;  // of rows
};

}  // namespace fathom::snapshot

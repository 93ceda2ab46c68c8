// RepairMark: the file `repaired-from` in a directory that a repair made (docs/formats/data-directory.md).
//
// Purpose: names the source of the repair, and whether something was lost. A repeated repair reads it. Thread safety:
// plain functions. Errors: kCorrupt: the file is damaged, or a newer program wrote it; the rest as the disk says.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"

namespace fathom::store {

// What tells one source of a repair from another, and from the same one after a server has used it again.
struct RepairSource {
  std::string path;                  // absolute, without symbolic links
  std::optional<std::string> files;  // a hash of RocksDB's IDENTITY, and of the names and sizes of its files

  bool operator==(const RepairSource&) const = default;
};
// `path`: a data directory. Files that cannot be read count as missing.
RepairSource repair_source(const std::string& path);

struct RepairMark {
  static constexpr const char* kName = "repaired-from";

  enum class State { kUnfinished, kNothingLost, kLoss, kUnknown };

  RepairSource source;               // without `files`: an older program wrote the mark
  State state = State::kUnfinished;  // kUnknown: an older program wrote the mark

  // Durable when this returns.
  Result<> write(const std::string& directory) const;
  static Result<RepairMark> read(const std::string& directory);
};

}  // namespace fathom::store

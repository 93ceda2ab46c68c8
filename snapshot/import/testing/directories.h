// Directories and files of a test's own, removed again.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

#include "base/testing/temp_directory.h"
#include "snapshot/format/directory.h"

namespace fathom::snapshot {

class ScratchDirectory {
 public:
  std::string path(const std::string& name) const { return directory_ / name; }
  std::string write(const std::string& name, const std::string& content) const;
  SnapshotDirectory snapshots() const { return *SnapshotDirectory::open(path("snapshots")); }

 private:
  TempDirectory directory_;
};

struct TestSegment {
  uint64_t address = 0;
  std::string content;
  bool executable = true;
};

// A small ELF file of 64 bits with these segments, each at a page of its own in the file.
std::string test_elf(const std::vector<TestSegment>& segments, const std::string& build_id);

}  // namespace fathom::snapshot

// ImageTable: the files that processes run, held from when their maps appear until a snapshot wants their bytes.
//
// Purpose: a file may be replaced, deleted, or its process gone when somebody asks for its code. So it is opened when
// its map appears, through the process's own view (map_files, else its root directory), checked by inode or build-id,
// and copied into the SnapshotDirectory when the first snapshot that names it is taken. Thread safety: one thread.
// A file that its rule (image_rule.h) excludes is missing, with kPrivateImage. Ownership: at most kMostOpen files are
// held open; beyond them, files are opened when they are copied. Errors: none; an image that cannot be had is missing,
// with the reason.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/fd.h"
#include "snapshot/format/directory.h"
#include "snapshot/format/perf_records.h"
#include "snapshot/record/image_rule.h"
#include "snapshot/record/pt/perf_system.h"

namespace fathom::snapshot {

class ImageTable {
 public:
  ImageTable(const PerfSystem& system, ImageRule rule) : system_(system), rule_(rule) {}

  // The image that a map shows, or kNoImage for memory that has none (stacks, "//anon").
  uint32_t of_mapping(const Sideband& row, const PerfMapping& mapping);
  // One whose bytes are known already, or known not to be had.
  uint32_t add(Image image);
  // What a snapshot says of it; copied at the first time, and again when the directory has it no more.
  Image stored(uint32_t image, const SnapshotDirectory& directory);
  // Lets go of files that no row names any more. Numbers stay what they are.
  void close_except(const std::set<uint32_t>& named);

  static constexpr size_t kMostOpen = 512;

 private:
  struct Entry {
    Image image;
    Sideband row;  // of the first process that mapped it
    PerfMapping mapping;
    Fd file;
    bool reachable = false;  // by everybody, when it was opened
    bool done = false;       // stored, or missing for good
  };

  void open(Entry& entry) const;
  bool is_private(const Entry& entry) const;

  static bool is_to_be_copied_again(const Entry& entry, const SnapshotDirectory& directory);
  void store_file(Entry& entry, const SnapshotDirectory& directory) const;
  void store_vdso(Entry& entry, const SnapshotDirectory& directory) const;

  const PerfSystem& system_;
  const ImageRule rule_;
  std::vector<Entry> entries_;
  std::map<std::string, uint32_t> by_identity_;
  size_t open_files_ = 0;
};

}  // namespace fathom::snapshot

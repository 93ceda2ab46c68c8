// CodeImages: the bytes of code at an address of a process, from the snapshot directory's copies.
//
// Thread safety: const functions from any thread (images are mapped under a lock when first asked for). Ownership:
// keeps references to the snapshot and the directory; views live as long as this. Errors: none; bytes that are not
// there are an answer. Images are private, immutable files, so nothing shrinks below a view.
#pragma once

#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

#include "snapshot/decode/memory_map.h"
#include "snapshot/format/directory.h"
#include "snapshot/format/snapshot.h"

namespace fathom::snapshot {

class CodeImages {
 public:
  CodeImages(const Snapshot& snapshot, const SnapshotDirectory& directory);
  ~CodeImages();

  // From `address` to the end of the range or of the image.
  std::string_view bytes(const MappedRange& range, uint64_t address) const;

 private:
  class Mapping;
  const Mapping& mapping(uint32_t image) const;

  const Snapshot& snapshot_;
  const SnapshotDirectory& directory_;
  mutable std::mutex lock_;
  mutable std::vector<std::unique_ptr<Mapping>> mappings_;
};

}  // namespace fathom::snapshot

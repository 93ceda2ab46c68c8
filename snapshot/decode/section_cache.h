// SectionCache: images as libipt's sections, one cache for all threads of a decode.
//
// Purpose: libipt decodes fast only over sections that stay mapped and remember where blocks end. Sections are added
// when code runs in them, cut so that the cache can let go of what is cold. Thread safety: any. Errors: a range whose
// image is not there, or ends before its map does, has no section there: missing() says why. Image files are private,
// immutable copies; their size is looked at nevertheless before libipt maps them. Ownership: refers to the snapshot.
#pragma once

#include <intel-pt.h>

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <tuple>
#include <vector>

#include "snapshot/decode/code_patches.h"
#include "snapshot/decode/memory_map.h"
#include "snapshot/format/directory.h"
#include "snapshot/format/snapshot.h"

namespace fathom::snapshot {

class SectionCache {
 public:
  SectionCache(const Snapshot& snapshot, const SnapshotDirectory& directory);
  ~SectionCache();
  SectionCache(const SectionCache&) = delete;
  SectionCache& operator=(const SectionCache&) = delete;

  // The section that holds `address` of `range`; 0 when there is none.
  int section(const MappedRange& range, uint64_t address);
  // Why there is none.
  std::string missing(const MappedRange& range) const;

  // Bytes of code at `address` of a section: how many were read.
  size_t read(int section, uint64_t address, uint8_t* bytes, size_t size) const;
  pt_image_section_cache* cache() const { return cache_; }

 private:
  struct Source {
    std::string path;
    uint64_t bytes = 0;  // that are there
    std::string missing;
  };
  using Key = std::tuple<uint32_t, uint64_t, uint64_t, uint64_t>;  // image, offset in it, bytes, address
  static Source look_at(const Image& image, const SnapshotDirectory& directory);
  int patch_section(const MappedRange& range);
  int add(const Key& key, const std::string& path);

  const Snapshot& snapshot_;
  pt_image_section_cache* cache_;
  const PatchFile patches_;
  std::vector<Source> sources_;
  std::mutex lock_;  // of sections_
  std::map<Key, int> sections_;
};

}  // namespace fathom::snapshot

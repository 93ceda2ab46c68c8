// The directory of a segment: zone maps, attribute keys, pages of shared records.
//
// Purpose: the parsed form behind SegmentDirectory, and its bytes. Thread safety: immutable once parsed. Errors:
// hostile input makes parse fail with kCorrupt.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "store/block/packing.h"
#include "store/block/segment_reader.h"

namespace fathom::store {

struct SegmentDirectory::Parts {
  struct Key {
    std::string name;
    bool on_spans = false;
    bool on_resources = false;
    uint32_t number = 0;  // of its own columns, + 1; 0: it has none anywhere
  };

  uint64_t rows = 0;
  uint64_t traces = 0;
  std::vector<BlockZone> zones;
  std::vector<Key> keys;             // own columns' first, by number
  uint32_t own_keys = 0;             // of `keys`, from its begin
  uint64_t unlisted_keys = 0;        // stored, but not in `keys`
  std::vector<uint32_t> page_first;  // per page: the first record's number
  uint32_t shared_records = 0;
  uint32_t filter_pages = 0;  // none before version 3
  uint32_t filters_per_block = 2;
  uint64_t slow_trace_nano = 0;
  std::string whole_filter;  // of version 1; in version 2 it is a chunk of its own

  // Derived from the above.
  std::vector<std::string> names;                            // sorted
  std::unordered_map<std::string_view, const Key*> by_name;  // into `keys`

  void index();
};

namespace block {

std::string encode_directory(const SegmentDirectory::Parts& parts, Packer& packer);
Result<std::unique_ptr<SegmentDirectory::Parts>> parse_directory(std::string_view bytes, HeldMemory* memory);

}  // namespace block

}  // namespace fathom::store

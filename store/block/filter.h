// The filters of a segment's blocks, in pages (docs/formats/block.md).
//
// Purpose: a condition asks every block of a segment about one pair of key and value, so what is read at once is one
// pair's part of the filters of all blocks: a page holds the pairs of a range of hashes, a small Bloom filter for each
// block and one for the resources of the segment, which occur in most of its blocks. Thread safety: a writer belongs to
// one thread; a page is immutable. Ownership: a page owns its bits. Errors: hostile input gives kCorrupt.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "store/block/packing.h"
#include "store/block/segment_writer.h"

namespace fathom::store::block {

class FilterWriter {
 public:
  // Of a block, or in the end of the resources; end_part() ends each.
  void insert(uint64_t pair_hash);
  void end_part();
  // Appends the pages as chunks; returns their number.
  uint32_t write_pages(Packer& packer, std::vector<Chunk>& chunks);

 private:
  std::vector<uint64_t> spread_;  // part after part, each ascending and without repetition once ended
  std::vector<size_t> part_end_;
};

uint32_t filter_page_of(uint64_t pair_hash, uint32_t pages);

class FilterPage {
 public:
  static Result<FilterPage> open(std::string_view body);
  // Parts: the blocks, then the resources.
  size_t parts() const { return part_end_.size(); }
  // False: no row of the block has the pair. True: perhaps. The block is below parts() - 1.
  bool may_contain(uint32_t block, uint64_t pair_hash) const;

 private:
  std::string_view part(size_t number) const;

  std::string bits_;
  std::vector<size_t> part_end_;
};

// Versions 1 and 2: the bits of one filter for all of the segment. False when they are damaged.
bool read_whole_filter(ByteReader& in, std::string& bits);

}  // namespace fathom::store::block

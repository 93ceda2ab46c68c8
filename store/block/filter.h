// The filters of a segment's blocks, in pages (docs/formats/block.md).
//
// Purpose: a condition asks every block of a segment about one pair of key and value, so what is read at once is one
// pair's part of the filters of all blocks: a page holds the pairs of a range of hashes, two small Bloom filters for
// each block, of its slow traces and of the others, and one for the resources of the segment, which occur in most of
// its blocks. The slowest are asked for most, and few of a block's traces are slow. Thread safety: a writer belongs to
// one thread; a page is immutable. Ownership: a page owns its bits. Errors: hostile input gives kCorrupt.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "store/block/packing.h"
#include "store/block/segment_reader.h"
#include "store/block/segment_writer.h"

namespace fathom::store::block {

class FilterWriter {
 public:
  // Of the block that end_block() ends.
  void insert(uint64_t pair_hash, bool slow);
  void end_block();
  // Then, once, of the resources.
  void insert_resource(uint64_t pair_hash);
  // Appends the pages as chunks; returns their number.
  uint32_t write_pages(Packer& packer, std::vector<Chunk>& chunks);

 private:
  void end_part(std::vector<uint64_t>& spread);

  std::vector<uint64_t> slow_, rest_, resources_;  // spread, as they came
  std::vector<uint64_t> spread_;                   // part after part, each ascending and without repetition
  std::vector<size_t> part_end_;
};

uint32_t filter_page_of(uint64_t pair_hash, uint32_t pages);

class FilterPage {
 public:
  static Result<FilterPage> open(const ChunkBody& body);
  // Parts: of the blocks, one or two each, then that of the resources.
  size_t parts() const { return part_end_.size(); }
  // The block is one of (parts() - 1) / parts_per_block.
  FilterHalves may_contain(uint32_t block, uint32_t parts_per_block, uint64_t pair_hash) const;

 private:
  std::string_view part(size_t number) const;

  std::string bits_;
  std::vector<size_t> part_end_;
};

// Versions 1 and 2: the bits of one filter for all of the segment. False when they are damaged.
bool read_whole_filter(ChunkReader& in, std::string& bits);

}  // namespace fathom::store::block

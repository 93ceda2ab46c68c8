// BlockCache: the chunks of the block that a reader is looking at, each fetched, checked and decoded at most once.
//
// Purpose: several questions about one block (times, then a condition, then another) share what they decode. Ownership:
// holds the chunks it handed out views of until another block is visited. Thread safety: one thread. Errors: the
// source's, and kCorrupt.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "store/block/directory.h"
#include "store/block/filter.h"
#include "store/block/row_chunks.h"
#include "store/block/segment_reader.h"
#include "store/block/shapes_chunk.h"
#include "store/block/shared_table.h"

namespace fathom::store::block {

struct LoadedChunk {
  ChunkBytes chunk;
  std::string_view body;
};

class BlockCache {
 public:
  BlockCache(SegmentDirectoryPtr directory, ChunkSource& source)
      : directory_(std::move(directory)),
        source_(source),
        reader_memory_(source.hold()),
        block_memory_(source.hold()),
        call_memory_(source.hold()) {}

  // Forgets the block before, unless it is the same one, and gives back what the call before took.
  Result<> visit(uint32_t block);

  const SegmentDirectoryPtr& directory() const { return directory_; }
  const SegmentDirectory::Parts& parts() const { return directory_->parts(); }
  const BlockZone& zone() const { return parts().zones[block_]; }

  // What a caller decodes is charged here until the next visit; what it owns for longer, to a hold of its own.
  HeldMemory& call_memory() { return call_memory_; }
  HeldMemory hold() { return source_.hold(); }

  // Of the visited block.
  Result<LoadedChunk> load(uint32_t column);
  Result<const DecodedTraces*> traces();
  Result<const LoadedChunk*> times_chunk();
  Result<const std::vector<uint32_t>*> operation_index();
  Result<const DecodedShapes*> shapes();
  Result<const std::vector<uint32_t>*> resources();  // record numbers, per row

  // Of the visited block: which traces' rows can have this attribute.
  Result<FilterHalves> may_contain(std::string_view key, std::string_view value_text);
  // The page that has the record, and the record's place in it.
  Result<std::pair<std::shared_ptr<const SharedPage>, uint32_t>> shared_record(uint32_t number);
  Result<std::shared_ptr<const SharedPage>> page(uint32_t page);

 private:
  struct Block {
    std::optional<DecodedTraces> traces;
    std::optional<LoadedChunk> times;
    std::optional<std::vector<uint32_t>> operation_index;
    std::optional<DecodedShapes> shapes;
    std::optional<std::vector<uint32_t>> resources;
  };

  Result<LoadedChunk> load(uint32_t block, uint32_t column);
  Result<std::shared_ptr<const SharedPage>> decode_page(uint32_t index);

  SegmentDirectoryPtr directory_;
  ChunkSource& source_;
  uint32_t block_ = kSegmentWide;
  Block current_;
  HeldMemory reader_memory_;  // of filters and shared pages
  HeldMemory block_memory_;   // of current_
  HeldMemory call_memory_;
  Result<FilterHalves> filter_has(uint64_t pair_hash);
  Result<bool> whole_filter_has(uint64_t pair_hash);
  std::map<uint32_t, FilterPage> filter_pages_;
  std::optional<std::string> whole_filter_;  // of version 2
  std::map<uint32_t, std::shared_ptr<const SharedPage>> pages_;
};

}  // namespace fathom::store::block

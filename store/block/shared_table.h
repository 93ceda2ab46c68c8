// Resources and scopes: records that many rows share, written once per segment, in pages.
//
// Purpose: a fleet has thousands of resources and each block has rows of most, so they are kept out of the blocks; a
// reader takes only the pages it needs. A resource is a record without name and version. Ownership: the table owns the
// records' bytes; a SharedPage owns its views' arrays, their texts point into its buffer. Thread safety: one thread.
// Errors: hostile pages make parse fail.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "store/batch.h"
#include "store/block/packing.h"
#include "store/block/segment_writer.h"
#include "store/span.h"

namespace fathom::store::block {

class SharedTable {
 public:
  // A batch's resources and scopes as numbers of this table.
  struct BatchRecords {
    std::vector<uint32_t> resources;
    std::vector<uint32_t> scopes;
  };

  const BatchRecords& records_of(const Batch& batch);
  // Every distinct resource so far.
  const std::vector<ResourceView>& resources() const { return resources_; }
  uint32_t size() const { return static_cast<uint32_t>(order_.size()); }
  // Appends the pages as chunks of kSegmentWide; returns the first record of each.
  std::vector<uint32_t> write_pages(Packer& packer, std::vector<Chunk>& chunks) const;

 private:
  uint32_t intern(std::string record, bool& is_new);
  uint32_t intern(const ResourceView& resource);

  std::map<std::string, uint32_t, std::less<>> numbers_;  // ordered: senders' bytes cannot make it degenerate
  std::vector<const std::string*> order_;
  std::vector<ResourceView> resources_;
  std::vector<bool> is_resource_;  // per record
  std::unordered_map<const Batch*, BatchRecords> batches_;
  const Batch* last_batch_ = nullptr;
  const BatchRecords* last_records_ = nullptr;
};

// One page, decoded.
class SharedPage {
 public:
  static Result<std::shared_ptr<const SharedPage>> parse(const ChunkBody& body, uint32_t records);
  const ScopeView& record(uint32_t index) const { return records_[index]; }
  uint32_t size() const { return static_cast<uint32_t>(records_.size()); }
  size_t memory_bytes() const {
    return sizeof *this + text_.capacity() + records_.capacity() * sizeof(ScopeView) +
           attributes_.capacity() * sizeof(AttributeView);
  }

 private:
  bool reserve(ChunkReader in);
  bool read(ChunkReader& in);

  std::string text_;
  std::vector<ScopeView> records_;
  std::vector<AttributeView> attributes_;
};

}  // namespace fathom::store::block

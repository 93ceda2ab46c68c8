// A directory and chunks that were changed independently: every question to the reader ends with an answer or an error.
//
// Input: a segment file (testing/segment_file.h) whose records are bodies without their frames; frames are put on here,
// so that changes get past the checksums.
#include <cstdint>
#include <map>
#include <string_view>

#include "store/block/packing.h"
#include "store/block/segment_reader.h"
#include "store/block/testing/segment_file.h"

namespace {

using namespace fathom;
using namespace fathom::store;
using namespace fathom::store::block;

class SealedSource : public ChunkSource {
 public:
  explicit SealedSource(const std::vector<Chunk>& chunks) {
    for (const Chunk& chunk : chunks) {
      chunks_[{chunk.block, chunk.column}] = std::make_shared<const std::string>(seal_chunk(chunk.bytes));
    }
  }
  Result<ChunkBytes> read(uint32_t block, uint32_t column) override {
    auto at = chunks_.find({block, column});
    if (at == chunks_.end()) return not_found("no such chunk");
    return ChunkBytes{*at->second, at->second};
  }

 private:
  std::map<std::pair<uint32_t, uint32_t>, std::shared_ptr<const std::string>> chunks_;
};

void read_rows(SegmentReader& reader, uint32_t block, uint32_t first, uint32_t count) {
  Result<StoredRows> rows = reader.rows(block, first, count);
  if (!rows.ok()) return;
  uint64_t bytes = 0;
  for (const StoredRow& row : rows->rows) {
    bytes += row.span.name.size();
    for (const AttributeView& a : row.span.attributes) bytes += a.key.size() + value_text(a.value).size();
    for (const AttributeView& a : row.resource.attributes) bytes += a.key.size() + value_text(a.value).size();
    for (const EventView& e : row.span.events) bytes += e.name.size() + e.attributes.size();
    for (const LinkView& l : row.span.links) bytes += l.trace_state.size() + l.attributes.size();
  }
  if (bytes == UINT64_MAX) __builtin_trap();  // keeps the reads
}

void question(SegmentReader& reader, uint32_t block) {
  const SegmentDirectory& directory = reader.directory();
  Result<std::span<const BlockTrace>> traces = reader.traces(block);
  if (traces.ok() && !traces->empty()) {
    TraceId last = traces->back().id;  // a copy: looking for it visits other blocks
    (void)reader.locate(last, block).ok();
  }
  (void)reader.times(block).ok();
  (void)reader.ids(block).ok();
  size_t asked = 0;
  for (const std::string& key : directory.attribute_keys()) {
    if (++asked > 20) break;
    (void)reader.value_counts(block, key).ok();
    for (const char* text : {"value-3", "7", "true", "", "service-1"}) (void)reader.match(block, key, text).ok();
  }
  uint32_t rows = directory.zone(block).rows;
  read_rows(reader, block, rows / 2, 1);
  read_rows(reader, block, 0, rows);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  EncodedSegment segment = from_file({reinterpret_cast<const char*>(data), size});
  Result<SegmentDirectoryPtr> directory = SegmentDirectory::open(seal_chunk(segment.directory));
  if (!directory.ok()) return 0;
  SealedSource source(segment.chunks);
  SegmentReader reader(*directory, source);
  for (uint32_t block = 0; block < std::min<uint32_t>(4, (*directory)->block_count()); ++block) question(reader, block);
  return 0;
}

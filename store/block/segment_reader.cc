#include "store/block/segment_reader.h"

#include <algorithm>

#include "store/block/block_cache.h"
#include "store/block/matcher.h"
#include "store/block/row_decoder.h"

namespace fathom::store {

using namespace block;

struct SegmentReader::Impl {
  BlockCache cache;
  Matcher matcher;

  Impl(SegmentDirectoryPtr directory, ChunkSource& source) : cache(std::move(directory), source), matcher(cache) {}
};

SegmentReader::SegmentReader(SegmentDirectoryPtr directory, ChunkSource& source)
    : impl_(std::make_unique<Impl>(std::move(directory), source)) {}
SegmentReader::~SegmentReader() = default;

const SegmentDirectory& SegmentReader::directory() const {
  return *impl_->cache.directory();
}

Result<FilterHalves> SegmentReader::may_contain(uint32_t block, std::string_view key, std::string_view value_text) {
  if (Result<> there = impl_->cache.visit(block); !there) return there.error();
  return impl_->cache.may_contain(key, value_text);
}

Result<std::span<const BlockTrace>> SegmentReader::traces(uint32_t block) {
  if (Result<> there = impl_->cache.visit(block); !there) return there.error();
  Result<const DecodedTraces*> traces = impl_->cache.traces();
  if (!traces) return traces.error();
  return std::span<const BlockTrace>((*traces)->traces);
}

Result<BlockTimes> SegmentReader::times(uint32_t block) {
  BlockCache& cache = impl_->cache;
  if (Result<> there = cache.visit(block); !there) return there.error();
  Result<const DecodedTraces*> traces = cache.traces();
  if (!traces) return traces.error();
  Result<const LoadedChunk*> chunk = cache.times_chunk();
  if (!chunk) return chunk.error();
  DecodedTimes decoded;
  HeldMemory& memory = cache.call_memory();
  if (!decode_times({(*chunk)->body, &memory}, cache.zone(), **traces, decoded)) return decode_error(memory, "times");
  if (Result<> held = memory.grow(cache.zone().rows * (sizeof(uint64_t) + sizeof(uint32_t) + 1)); !held) {
    return held.error();
  }
  BlockTimes times;
  times.start_unix_nano = std::move(decoded.start_unix_nano);
  times.sequence = std::move(decoded.sequence);
  times.duration_nano.resize(cache.zone().rows);
  for (size_t i = 0; i < times.duration_nano.size(); ++i) {
    uint64_t sent = decoded.sent_unix_nano[i], end = sent + decoded.length_nano[i];
    times.duration_nano[i] = end > sent ? end - sent : 0;
  }
  times.operation.reserve(cache.zone().rows);
  times.error.reserve(cache.zone().rows);
  for (uint32_t index : decoded.operation_index) times.operation.push_back(cache.zone().operations[index]);
  for (uint8_t status : decoded.status) times.error.push_back(status == static_cast<uint8_t>(StatusCode::kError));
  return times;
}

Result<BlockIds> SegmentReader::ids(uint32_t block) {
  BlockCache& cache = impl_->cache;
  if (Result<> there = cache.visit(block); !there) return there.error();
  Result<const DecodedTraces*> traces = cache.traces();
  if (!traces) return traces.error();
  Result<LoadedChunk> chunk = cache.load(kIdsColumn);
  if (!chunk) return chunk.error();
  BlockIds ids;
  HeldMemory& memory = cache.call_memory();
  if (!decode_ids({chunk->body, &memory}, cache.zone(), **traces, ids)) return decode_error(memory, "ids");
  return ids;
}

Result<std::vector<uint32_t>> SegmentReader::match(uint32_t block, std::string_view key, std::string_view text) {
  if (Result<> there = impl_->cache.visit(block); !there) return there.error();
  return impl_->matcher.match(key, text);
}

Result<std::vector<uint32_t>> SegmentReader::match_if(uint32_t block, std::string_view key, const ValueTest& test) {
  if (Result<> there = impl_->cache.visit(block); !there) return there.error();
  return impl_->matcher.match_if(key, test);
}

Result<std::vector<ValueRows>> SegmentReader::value_counts(uint32_t block, std::string_view key) {
  if (Result<> there = impl_->cache.visit(block); !there) return there.error();
  return impl_->matcher.value_counts(key);
}

Result<StoredRows> SegmentReader::rows(uint32_t block, uint32_t first_row, uint32_t row_count) {
  if (Result<> there = impl_->cache.visit(block); !there) return there.error();
  return decode_rows(impl_->cache, first_row, row_count);
}

Result<std::vector<RowRange>> SegmentReader::locate(const TraceId& id, uint32_t first_block) {
  std::vector<RowRange> ranges;
  for (uint32_t block = first_block; block < directory().block_count(); ++block) {
    if (Result<> there = impl_->cache.visit(block); !there) return there.error();
    Result<const DecodedTraces*> decoded = impl_->cache.traces();
    if (!decoded) return decoded.error();
    const std::vector<BlockTrace>& traces = (*decoded)->traces;
    auto at = std::lower_bound(traces.begin(), traces.end(), id,
                               [](const BlockTrace& trace, const TraceId& wanted) { return trace.id < wanted; });
    if (at == traces.end() || at->id != id) break;
    ranges.push_back({block, at->first_row, at->row_count});
    // Only a block's last trace can go on in the next one.
    if (at + 1 != traces.end()) break;
  }
  return ranges;
}

}  // namespace fathom::store

#include "store/block/block_cache.h"

#include <algorithm>

#include "store/block/bloom.h"
#include "store/block/detail_chunks.h"
#include "store/block/values.h"

namespace fathom::store::block {

Result<> BlockCache::visit(uint32_t block) {
  if (block >= directory_->block_count()) return corrupt("a segment has no block " + std::to_string(block));
  call_memory_.release();
  if (block != block_) {
    current_ = Block();
    block_memory_.release();
  }
  block_ = block;
  return {};
}

Result<LoadedChunk> BlockCache::load(uint32_t column) {
  return load(block_, column);
}

Result<LoadedChunk> BlockCache::load(uint32_t block, uint32_t column) {
  Result<ChunkBytes> chunk = source_.read(block, column);
  if (!chunk) return chunk.error();
  Result<std::string_view> body = open_chunk(chunk->bytes);
  if (!body) return body.error();
  return LoadedChunk{std::move(*chunk), *body};
}

Result<const DecodedTraces*> BlockCache::traces() {
  if (!current_.traces) {
    Result<LoadedChunk> chunk = load(kTracesColumn);
    if (!chunk) return chunk.error();
    DecodedTraces decoded;
    if (!decode_traces({chunk->body, &block_memory_}, zone(), decoded)) return decode_error(block_memory_, "traces");
    current_.traces = std::move(decoded);
  }
  return &*current_.traces;
}

Result<const LoadedChunk*> BlockCache::times_chunk() {
  if (!current_.times) {
    Result<LoadedChunk> chunk = load(kTimesColumn);
    if (!chunk) return chunk.error();
    current_.times = std::move(*chunk);
  }
  return &*current_.times;
}

Result<const std::vector<uint32_t>*> BlockCache::operation_index() {
  if (!current_.operation_index) {
    Result<const LoadedChunk*> chunk = times_chunk();
    if (!chunk) return chunk.error();
    std::vector<uint32_t> decoded;
    if (!decode_operations({(*chunk)->body, &block_memory_}, zone(), decoded)) {
      return decode_error(block_memory_, "operations");
    }
    current_.operation_index = std::move(decoded);
  }
  return &*current_.operation_index;
}

Result<const DecodedShapes*> BlockCache::shapes() {
  if (!current_.shapes) {
    Result<LoadedChunk> chunk = load(kShapesColumn);
    if (!chunk) return chunk.error();
    DecodedShapes decoded;
    if (!decode_shapes({chunk->body, &block_memory_}, zone(), decoded)) return decode_error(block_memory_, "shapes");
    current_.shapes = std::move(decoded);
  }
  return &*current_.shapes;
}

Result<const std::vector<uint32_t>*> BlockCache::resources() {
  if (!current_.resources) {
    Result<const std::vector<uint32_t>*> operations = operation_index();
    if (!operations) return operations.error();
    Result<LoadedChunk> chunk = load(kResourcesColumn);
    if (!chunk) return chunk.error();
    std::vector<uint32_t> decoded;
    bool held = decode_resources({chunk->body, &block_memory_}, zone(), **operations, decoded) &&
                std::all_of(decoded.begin(), decoded.end(), [&](uint32_t r) { return r < parts().shared_records; });
    if (!held) return decode_error(block_memory_, "resources");
    current_.resources = std::move(decoded);
  }
  return &*current_.resources;
}

Result<FilterHalves> BlockCache::may_contain(std::string_view key, std::string_view value_text) {
  if (!directory_->may_have_key(key)) return FilterHalves{};
  uint64_t pair = pair_hash(value_text, key_seed(key));
  if (parts().filter_pages != 0) return filter_has(pair);
  Result<bool> has = whole_filter_has(pair);
  if (!has) return has.error();
  return FilterHalves{*has, *has};
}

Result<FilterHalves> BlockCache::filter_has(uint64_t pair_hash) {
  uint32_t number = filter_page_of(pair_hash, parts().filter_pages);
  auto found = filter_pages_.find(number);
  if (found == filter_pages_.end()) {
    Result<LoadedChunk> chunk = load(kFirstFilterPage + number, 0);
    if (!chunk) return chunk.error();
    Result<FilterPage> page = FilterPage::open({chunk->body, &reader_memory_});
    if (!page) return decode_error(reader_memory_, "filter");
    if (page->parts() != size_t{directory_->block_count()} * parts().filters_per_block + 1) return damaged("filter");
    found = filter_pages_.emplace(number, std::move(*page)).first;
  }
  return found->second.may_contain(block_, parts().filters_per_block, pair_hash);
}

Result<bool> BlockCache::whole_filter_has(uint64_t pair_hash) {
  if (!parts().whole_filter.empty()) return lines_may_contain(parts().whole_filter, spread(pair_hash));
  if (!whole_filter_) {
    Result<LoadedChunk> chunk = load(kSegmentWide, kFilterColumn);
    if (!chunk) return chunk.error();
    ChunkReader in({chunk->body, &reader_memory_});
    std::string bits;
    if (!read_whole_filter(in, bits) || !in.at_end()) return decode_error(reader_memory_, "filter");
    whole_filter_ = std::move(bits);
  }
  return lines_may_contain(*whole_filter_, spread(pair_hash));
}

Result<std::pair<std::shared_ptr<const SharedPage>, uint32_t>> BlockCache::shared_record(uint32_t number) {
  const std::vector<uint32_t>& first = parts().page_first;
  if (number >= parts().shared_records) return damaged("shared records");
  auto after = std::upper_bound(first.begin(), first.end(), number);
  auto index = static_cast<uint32_t>(after - first.begin() - 1);
  Result<std::shared_ptr<const SharedPage>> found = page(index);
  if (!found) return found.error();
  return std::pair(std::move(*found), number - first[index]);
}

Result<std::shared_ptr<const SharedPage>> BlockCache::page(uint32_t index) {
  std::shared_ptr<const SharedPage>& cached = pages_[index];
  if (cached != nullptr) return cached;
  cached = source_.known_page(index);
  if (cached == nullptr) return decode_page(index);
  // It costs a query the same whether or not it has to be decoded.
  if (Result<> held = reader_memory_.grow(cached->memory_bytes()); !held) return held.error();
  return cached;
}

Result<std::shared_ptr<const SharedPage>> BlockCache::decode_page(uint32_t index) {
  const std::vector<uint32_t>& first = parts().page_first;
  uint32_t end = index + 1 < first.size() ? first[index + 1] : parts().shared_records;
  Result<LoadedChunk> chunk = load(kSegmentWide, index);
  if (!chunk) return chunk.error();
  const uint64_t others = reader_memory_.bytes();
  Result<std::shared_ptr<const SharedPage>> parsed =
      SharedPage::parse({chunk->body, &reader_memory_}, end - first[index]);
  if (!parsed) return decode_error(reader_memory_, "shared records");
  // From here on it costs as much as a page that another reader decoded.
  const uint64_t together = others + (*parsed)->memory_bytes();
  reader_memory_.shrink_to(together);
  if (Result<> held = reader_memory_.grow(together - std::min(together, reader_memory_.bytes())); !held) {
    return held.error();
  }
  source_.keep_page(index, *parsed);
  pages_[index] = *parsed;
  return parsed;
}

}  // namespace fathom::store::block

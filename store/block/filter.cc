#include "store/block/filter.h"

#include <algorithm>

#include "store/block/bloom.h"
#include "store/block/layout.h"

namespace fathom::store::block {

namespace {

uint32_t page_of_spread(uint64_t spread, uint32_t pages) {
  return static_cast<uint32_t>((static_cast<unsigned __int128>(spread) * pages) >> 64);
}

uint32_t pages_for(size_t pairs) {
  size_t bytes = pairs * kBloomBitsPerPair / 8;
  return static_cast<uint32_t>(std::clamp<size_t>(bytes / kFilterPageBytes, 1, kMaxFilterPages));
}

}  // namespace

void FilterWriter::insert(uint64_t pair_hash, bool slow) {
  (slow ? slow_ : rest_).push_back(spread(pair_hash));
}

void FilterWriter::insert_resource(uint64_t pair_hash) {
  resources_.push_back(spread(pair_hash));
}

void FilterWriter::end_block() {
  end_part(slow_);
  end_part(rest_);
}

void FilterWriter::end_part(std::vector<uint64_t>& spread) {
  std::sort(spread.begin(), spread.end());
  spread_.insert(spread_.end(), spread.begin(), std::unique(spread.begin(), spread.end()));
  part_end_.push_back(spread_.size());
  spread.clear();
}

uint32_t FilterWriter::write_pages(Packer& packer, std::vector<Chunk>& chunks) {
  end_part(resources_);
  uint32_t pages = pages_for(spread_.size());
  // Where each part goes on: its hashes ascend, and so do the pages that they are in.
  std::vector<size_t> next(part_end_.size(), 0);
  std::copy(part_end_.begin(), part_end_.end() - 1, next.begin() + 1);
  for (uint32_t page = 0; page < pages; ++page) {
    std::vector<uint32_t> sizes;
    std::string body, bits;
    for (size_t part = 0; part < part_end_.size(); ++part) {
      size_t begin = next[part];
      while (next[part] < part_end_[part] && page_of_spread(spread_[next[part]], pages) == page) ++next[part];
      sizes.push_back(append_bloom(bits, std::span(spread_).subspan(begin, next[part] - begin)));
    }
    ByteWriter(body).varint(sizes.size());
    packer.ints(body, std::span<const uint32_t>(sizes));
    packer.random_blob(body, bits);
    chunks.push_back({kFirstFilterPage + page, 0, seal_chunk(body)});
  }
  return pages;
}

uint32_t filter_page_of(uint64_t pair_hash, uint32_t pages) {
  return page_of_spread(spread(pair_hash), pages);
}

Result<FilterPage> FilterPage::open(const ChunkBody& body) {
  ChunkReader in(body);
  FilterPage page;
  std::vector<uint32_t> sizes;
  if (!read_ints(in, read_entries(in), sizes) || !read_whole_filter(in, page.bits_)) return damaged("filter");
  if (!in.take_array<size_t>(sizes.size())) return damaged("filter");
  page.part_end_.reserve(sizes.size());
  size_t end = 0;
  for (uint32_t size : sizes) page.part_end_.push_back(end += size);
  if (end != page.bits_.size() || !in.at_end()) return damaged("filter");
  return page;
}

std::string_view FilterPage::part(size_t number) const {
  size_t begin = number == 0 ? 0 : part_end_[number - 1];
  return std::string_view(bits_).substr(begin, part_end_[number] - begin);
}

FilterHalves FilterPage::may_contain(uint32_t block, uint32_t parts_per_block, uint64_t pair_hash) const {
  uint64_t pair = spread(pair_hash);
  if (bloom_may_contain(part(parts() - 1), pair)) return {true, true};
  size_t first = size_t{block} * parts_per_block, last = first + parts_per_block - 1;
  return {bloom_may_contain(part(first), pair), bloom_may_contain(part(last), pair)};
}

bool read_whole_filter(ChunkReader& in, std::string& bits) {
  Stream stream;
  std::string buffer;
  std::string_view bytes;
  if (!read_blob(in, stream) || !unpack(in, stream, buffer, bytes)) return false;
  if (!in.take(bytes.size())) return false;
  bits = bytes;
  return true;
}

}  // namespace fathom::store::block

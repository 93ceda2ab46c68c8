#include "store/block/filter.h"

#include "store/block/layout.h"
#include "store/block/values.h"

namespace fathom::store {

namespace block {

namespace {

bool read_bits(ByteReader& in, std::string& out) {
  Stream stream;
  std::string buffer;
  std::string_view bytes;
  if (!read_blob(in, stream) || !unpack(stream, buffer, bytes)) return false;
  out = bytes;
  return true;
}

SegmentFilterPtr parse_parts(ByteReader& in) {
  uint32_t parts = read_entries(in);
  std::vector<uint32_t> lines;
  std::string bits;
  if (parts == 0 || !read_ints(in, parts, lines) || !read_bits(in, bits)) return nullptr;
  std::vector<size_t> ends;
  size_t end = 0;
  for (uint32_t count : lines) ends.push_back(end += count * kBloomLineBytes);
  if (end != bits.size()) return nullptr;
  return std::make_shared<const SegmentFilter>(std::move(bits), std::move(ends));
}

}  // namespace

void FilterWriter::end_part() {
  lines_.push_back(append_bloom(bits_, pairs_, kBloomBitsPerPair));
  pairs_.clear();
}

std::string FilterWriter::seal(Packer& packer) const {
  std::string body;
  ByteWriter(body).varint(lines_.size());
  packer.ints(body, std::span<const uint32_t>(lines_));
  packer.blob(body, bits_);
  return seal_chunk(body);
}

SegmentFilterPtr parse_whole_filter(ByteReader& in) {
  std::string bits;
  if (!read_bits(in, bits)) return nullptr;
  return std::make_shared<const SegmentFilter>(std::move(bits), std::vector<size_t>());
}

}  // namespace block

using namespace block;

Result<SegmentFilterPtr> SegmentFilter::open(std::string_view chunk) {
  Result<std::string_view> body = open_chunk(chunk);
  if (!body) return body.error();
  ByteReader in(*body);
  bool whole = static_cast<uint8_t>(chunk[0]) < kFilterPerBlock;
  SegmentFilterPtr filter = whole ? parse_whole_filter(in) : parse_parts(in);
  if (filter == nullptr || !in.at_end()) return damaged("filter");
  return filter;
}

bool SegmentFilter::may_contain(uint32_t block, std::string_view key, std::string_view value_text) const {
  uint64_t pair = pair_hash(value_text, key_seed(key));
  if (part_end_.empty()) return bloom_may_contain(bits_, pair);
  return bloom_may_contain(part(block), pair) || bloom_may_contain(part(part_end_.size() - 1), pair);
}

std::string_view SegmentFilter::part(size_t number) const {
  size_t begin = number == 0 ? 0 : part_end_[number - 1];
  return std::string_view(bits_).substr(begin, part_end_[number] - begin);
}

Result<SegmentFilterPtr> ChunkSource::filter() {
  Result<ChunkBytes> chunk = read(kSegmentWide, kFilterColumn);
  if (!chunk) return chunk.error();
  return SegmentFilter::open(chunk->bytes);
}

}  // namespace fathom::store

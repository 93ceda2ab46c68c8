#include "store/block/filter.h"

#include "store/block/layout.h"
#include "store/block/values.h"

namespace fathom::store {

namespace block {

std::string encode_filter(const HashSet& pairs, Packer& packer) {
  std::string body;
  packer.blob(body, build_bloom(pairs, kBloomBitsPerPair));
  return seal_chunk(body);
}

SegmentFilterPtr parse_filter(ByteReader& in) {
  Stream stream;
  std::string buffer;
  std::string_view bytes;
  if (!read_blob(in, stream) || !unpack(stream, buffer, bytes)) return nullptr;
  return std::make_shared<const SegmentFilter>(std::string(bytes));
}

}  // namespace block

Result<SegmentFilterPtr> SegmentFilter::open(std::string_view chunk) {
  Result<std::string_view> body = block::open_chunk(chunk);
  if (!body) return body.error();
  ByteReader in(*body);
  SegmentFilterPtr filter = block::parse_filter(in);
  if (filter == nullptr || !in.at_end()) return block::damaged("filter");
  return filter;
}

bool SegmentFilter::may_contain(std::string_view key, std::string_view value_text) const {
  return block::bloom_may_contain(bits_, block::pair_hash(value_text, block::key_seed(key)));
}

Result<SegmentFilterPtr> ChunkSource::filter() {
  Result<ChunkBytes> chunk = read(kSegmentWide, block::kFilterColumn);
  if (!chunk) return chunk.error();
  return SegmentFilter::open(chunk->bytes);
}

}  // namespace fathom::store

#include "store/rocks/sample_places.h"

#include <algorithm>

namespace fathom::store {

namespace {

constexpr uint32_t kRowsInMemory = 1024;  // as many as a block has

uint64_t mixed(uint64_t high, uint64_t low) {
  uint64_t word = (high << 32 ^ low) * 0x9e3779b97f4a7c15ULL;
  word = (word ^ word >> 32) * 0xd6e8feb86659fd93ULL;
  return word ^ word >> 29;
}

Result<> add_segment(SealedReader& sealed, const SegmentInfo& info, const SpanRows& meant,
                     std::vector<SamplePlace>& places) {
  Result<SegmentReader*> reader = sealed.segment(info);
  if (!reader) return reader.error();
  const SegmentDirectory& directory = (*reader)->directory();
  for (uint32_t block = 0; block < directory.block_count(); ++block) {
    const BlockZone& zone = directory.zone(block);
    if (meant.may_match(zone)) places.push_back({&info, nullptr, block, zone.rows, mixed(info.id, block)});
  }
  return {};
}

void add_generation(const Generation& generation, uint64_t number, const TimeRange& range,
                    std::vector<SamplePlace>& places) {
  auto lock = generation.read();
  if (generation.max_start_unix_nano() < range.from_unix_nano || generation.min_start_unix_nano() >= range.to_unix_nano)
    return;
  auto rows = static_cast<uint32_t>(generation.rows().size());
  for (uint32_t first = 0; first < rows; first += kRowsInMemory) {
    places.push_back({nullptr, &generation, first, std::min(kRowsInMemory, rows - first), mixed(~number, first)});
  }
}

}  // namespace

Result<std::vector<SamplePlace>> sample_places(SealedReader& sealed, const SpanRows& meant) {
  std::vector<SamplePlace> places;
  if (Result<> alive = sealed.budget().check(); !alive) return alive.error();
  if (!meant.possible()) return places;
  for (const SegmentInfoPtr& segment : sealed.view().segments) {
    if (!segment->touches(meant.range())) continue;
    Result<> added = add_segment(sealed, *segment, meant, places);
    if (!added && added.error().code != ErrorCode::kNotFound) return added.error();
  }
  uint64_t number = 0;
  for (const auto& generation : sealed.view().generations) add_generation(*generation, ++number, meant.range(), places);
  std::sort(places.begin(), places.end(), [](const SamplePlace& a, const SamplePlace& b) { return a.order < b.order; });
  return places;
}

}  // namespace fathom::store

#include "store/block/directory.h"

#include <algorithm>
#include <numeric>

#include "store/block/filter.h"
#include "store/block/layout.h"
#include "store/block/values.h"

namespace fathom::store {

using Parts = SegmentDirectory::Parts;

namespace block {

namespace {

constexpr uint64_t kKeyBytes = 160;  // of a key beside its name: where it is listed, and how it is found

constexpr uint8_t kOnSpans = 1, kOnResources = 2;

uint8_t zone_flags(const BlockZone& zone) {
  return static_cast<uint8_t>((zone.errors ? kHasErrors : 0) | (zone.events ? kHasEvents : 0) |
                              (zone.links ? kHasLinks : 0) | (zone.rest ? kHasRest : 0));
}

// Maxima are written as their distance from the minimum.
std::vector<uint64_t> zone_numbers(const BlockZone& z) {
  return {z.rows,
          z.traces,
          zone_flags(z),
          z.min_start_unix_nano,
          z.max_start_unix_nano - z.min_start_unix_nano,
          z.min_trace_start_unix_nano,
          z.max_trace_start_unix_nano - z.min_trace_start_unix_nano,
          z.max_span_duration_nano,
          z.max_trace_duration_nano,
          z.min_sequence,
          z.max_sequence - z.min_sequence};
}
constexpr size_t kZoneNumbers = 11;

BlockZone zone_of(const uint64_t* n) {
  BlockZone z;
  z.rows = static_cast<uint32_t>(n[0]);
  z.traces = static_cast<uint32_t>(n[1]);
  z.errors = n[2] & kHasErrors;
  z.events = n[2] & kHasEvents;
  z.links = n[2] & kHasLinks;
  z.rest = n[2] & kHasRest;
  z.min_start_unix_nano = n[3];
  z.max_start_unix_nano = n[3] + n[4];
  z.min_trace_start_unix_nano = n[5];
  z.max_trace_start_unix_nano = n[5] + n[6];
  z.max_span_duration_nano = n[7];
  z.max_trace_duration_nano = n[8];
  z.min_sequence = n[9];
  z.max_sequence = n[9] + n[10];
  return z;
}

void write_zones(std::string& out, Packer& packer, const std::vector<BlockZone>& zones) {
  std::vector<uint64_t> columns(kZoneNumbers * zones.size());
  for (size_t i = 0; i < zones.size(); ++i) {
    std::vector<uint64_t> numbers = zone_numbers(zones[i]);
    for (size_t n = 0; n < kZoneNumbers; ++n) columns[n * zones.size() + i] = numbers[n];
  }
  std::span<const uint64_t> all(columns);
  for (size_t n = 0; n < kZoneNumbers; ++n) packer.ints(out, all.subspan(n * zones.size(), zones.size()));
}

bool zone_holds(const uint64_t* n) {
  return n[0] > 0 && n[0] <= kMaxBlockRows && n[1] > 0 && n[1] <= n[0];
}

bool read_zones(ChunkReader& in, uint32_t blocks, std::vector<BlockZone>& out) {
  std::vector<std::vector<uint64_t>> columns(kZoneNumbers);
  for (auto& column : columns) {
    if (!read_ints(in, blocks, column)) return false;
  }
  if (!in.take_array<BlockZone>(blocks)) return false;
  out.reserve(blocks);
  for (uint32_t i = 0; i < blocks; ++i) {
    uint64_t numbers[kZoneNumbers];
    for (size_t n = 0; n < kZoneNumbers; ++n) numbers[n] = columns[n][i];
    if (!zone_holds(numbers)) return in.fail() != 0;
    out.push_back(zone_of(numbers));
  }
  return true;
}

using SetOf = std::vector<uint32_t> BlockZone::*;

// An ascending set of numbers per block: sizes, then steps.
void write_sets(std::string& out, Packer& packer, const std::vector<BlockZone>& zones, SetOf set) {
  std::vector<uint32_t> sizes, steps;
  for (const BlockZone& zone : zones) {
    uint32_t previous = 0;
    sizes.push_back(static_cast<uint32_t>((zone.*set).size()));
    for (uint32_t member : zone.*set) steps.push_back(member - std::exchange(previous, member));
  }
  packer.ints(out, std::span<const uint32_t>(sizes));
  packer.ints(out, std::span<const uint32_t>(steps));
}

bool read_sets(ChunkReader& in, std::vector<BlockZone>& zones, SetOf set) {
  std::vector<uint32_t> sizes, steps;
  if (!read_ints(in, zones.size(), sizes)) return false;
  uint64_t total = std::accumulate(sizes.begin(), sizes.end(), uint64_t{0});
  if (total > kMaxEntries || !read_ints(in, total, steps)) return in.fail() != 0;
  if (!in.take_array<uint32_t>(total)) return false;
  const uint32_t* step = steps.data();
  for (size_t i = 0; i < zones.size(); ++i) {
    uint64_t member = 0;
    std::vector<uint32_t>& members = zones[i].*set;
    members.reserve(sizes[i]);
    for (uint32_t n = 0; n < sizes[i]; ++n) {
      member += *step;
      if ((n > 0 && *step == 0) || member > UINT32_MAX) return in.fail() != 0;
      members.push_back(static_cast<uint32_t>(member));
      ++step;
    }
  }
  return true;
}

void write_keys(std::string& out, Packer& packer, const Parts& parts) {
  ByteWriter writer(out);
  writer.varint(parts.keys.size());
  writer.varint(parts.own_keys);
  writer.varint(parts.unlisted_keys);
  std::vector<ValueView> names;
  std::string flags;
  for (const Parts::Key& key : parts.keys) {
    names.push_back(ValueView::of_string(key.name));
    flags.push_back(static_cast<char>((key.on_spans ? kOnSpans : 0) | (key.on_resources ? kOnResources : 0)));
  }
  write_values(out, packer, names);
  packer.plane(out, flags);
}

bool read_keys(ChunkReader& in, Parts& parts) {
  uint32_t count = read_entries(in, kMaxListedKeys);
  parts.own_keys = read_entries(in, count);
  parts.unlisted_keys = in.varint();
  ValueTable table;
  Stream stream;
  std::string buffer;
  std::string_view flags;
  if (!table.read(in, count) || !read_stream(in, count, stream) || !unpack(in, stream, buffer, flags)) return false;
  if (!in.take(table.view_bytes() + count * kKeyBytes)) return false;
  Arena arena;
  std::vector<ValueView> names = table.views(arena);
  parts.keys.reserve(count);
  for (uint32_t i = 0; i < count; ++i) {
    if (!in.take(2 * names[i].text.size())) return false;
    Parts::Key key;
    key.name = names[i].text;
    key.on_spans = flags[i] & kOnSpans;
    key.on_resources = flags[i] & kOnResources;
    key.number = i < parts.own_keys ? i + 1 : 0;
    parts.keys.push_back(std::move(key));
  }
  return true;
}

bool read_pages(ChunkReader& in, Parts& parts) {
  uint32_t pages = read_entries(in);
  parts.shared_records = read_entries(in);
  if (!read_ints(in, pages, parts.page_first)) return false;
  bool rising = std::adjacent_find(parts.page_first.begin(), parts.page_first.end(), std::greater_equal<>()) ==
                parts.page_first.end();
  bool complete = pages == 0 ? parts.shared_records == 0
                             : parts.page_first.front() == 0 && parts.page_first.back() < parts.shared_records;
  return (rising && complete) || in.fail() != 0;
}

// Directories of version 1 end with the filter, those since version 3 with the number of its pages.
bool read_filter(ChunkReader& in, uint8_t version, Parts& parts) {
  if (version < kFilterApart) return read_whole_filter(in, parts.whole_filter);
  if (version < kFilterPages) return true;
  parts.filter_pages = read_entries(in, kMaxFilterPages);
  bool halves = version >= kFilterHalves;
  parts.filters_per_block = halves ? 2 : 1;
  parts.slow_trace_nano = halves ? in.varint() : 0;
  return parts.filter_pages > 0;
}

bool columns_exist(const Parts& parts) {
  return std::all_of(parts.zones.begin(), parts.zones.end(),
                     [&](const BlockZone& z) { return z.columns.empty() || z.columns.back() < parts.own_keys; });
}

}  // namespace

std::string encode_directory(const Parts& parts, Packer& packer) {
  std::string body;
  ByteWriter writer(body);
  writer.varint(parts.zones.size());
  write_zones(body, packer, parts.zones);
  write_sets(body, packer, parts.zones, &BlockZone::operations);
  write_sets(body, packer, parts.zones, &BlockZone::columns);
  writer.varint(parts.traces);
  write_keys(body, packer, parts);
  writer.varint(parts.page_first.size());
  writer.varint(parts.shared_records);
  packer.ints(body, std::span<const uint32_t>(parts.page_first));
  writer.varint(parts.filter_pages);
  writer.varint(parts.slow_trace_nano);
  return seal_chunk(body);
}

Result<std::unique_ptr<Parts>> parse_directory(std::string_view bytes, HeldMemory* memory) {
  Result<std::string_view> body = open_chunk(bytes);
  if (!body) return body.error();
  ChunkReader in({*body, memory});
  auto parts = std::make_unique<Parts>();
  uint32_t blocks = read_entries(in);
  bool read = read_zones(in, blocks, parts->zones) && read_sets(in, parts->zones, &BlockZone::operations) &&
              read_sets(in, parts->zones, &BlockZone::columns);
  parts->traces = in.varint();
  read = read && read_keys(in, *parts) && read_pages(in, *parts) &&
         read_filter(in, static_cast<uint8_t>(bytes[0]), *parts);
  if (!read || in.failed() || !in.at_end() || !columns_exist(*parts)) return damaged("directory");
  for (const BlockZone& zone : parts->zones) parts->rows += zone.rows;
  parts->index();
  return parts;
}

}  // namespace block

void Parts::index() {
  for (const Key& key : keys) {
    names.push_back(key.name);
    by_name.emplace(key.name, &key);
  }
  std::sort(names.begin(), names.end());
}

Result<SegmentDirectoryPtr> SegmentDirectory::open(std::string_view bytes, HeldMemory* memory) {
  Result<std::unique_ptr<Parts>> parts = block::parse_directory(bytes, memory);
  if (!parts) return memory != nullptr ? block::decode_error(*memory, "directory") : parts.error();
  return SegmentDirectoryPtr(new SegmentDirectory(std::move(*parts)));
}

SegmentDirectory::SegmentDirectory(std::unique_ptr<const Parts> parts) : parts_(std::move(parts)) {}
SegmentDirectory::~SegmentDirectory() = default;

uint64_t SegmentDirectory::rows() const {
  return parts_->rows;
}
uint64_t SegmentDirectory::traces() const {
  return parts_->traces;
}
uint32_t SegmentDirectory::block_count() const {
  return static_cast<uint32_t>(parts_->zones.size());
}
const BlockZone& SegmentDirectory::zone(uint32_t block) const {
  assert(block < parts_->zones.size());
  return parts_->zones[block];
}
const std::vector<std::string>& SegmentDirectory::attribute_keys() const {
  return parts_->names;
}

uint64_t SegmentDirectory::slow_trace_nano() const {
  return parts_->slow_trace_nano;
}

bool SegmentDirectory::may_have_key(std::string_view key) const {
  return parts_->unlisted_keys != 0 || parts_->by_name.contains(key);
}

size_t SegmentDirectory::memory_bytes() const {
  size_t bytes = sizeof *this + sizeof(Parts) + parts_->zones.size() * sizeof(BlockZone);
  bytes += parts_->whole_filter.size();
  for (const BlockZone& zone : parts_->zones) bytes += (zone.operations.capacity() + zone.columns.capacity()) * 4;
  for (const Parts::Key& key : parts_->keys) bytes += 2 * (sizeof key + key.name.size()) + 64;
  return bytes;
}

}  // namespace fathom::store

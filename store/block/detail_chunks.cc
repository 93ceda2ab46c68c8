#include "store/block/detail_chunks.h"

#include <algorithm>
#include <numeric>

namespace fathom::store::block {

namespace {

constexpr size_t kLinkIdBytes = 24;

void write_distinct(std::string& out, Packer& packer, std::span<const ValueView> entries) {
  Dictionary dictionary;
  dictionary.build(entries);
  write_column(out, packer, entries, dictionary);
}

void write_lists(std::string& out, Packer& packer, const AttributeLists& lists) {
  packer.ints(out, std::span<const uint32_t>(lists.counts));
  write_distinct(out, packer, lists.keys);
  write_distinct(out, packer, lists.values);
}

uint64_t sum(const std::vector<uint32_t>& counts) {
  return std::accumulate(counts.begin(), counts.end(), uint64_t{0});
}

// Counts per row, and how many there are together.
bool read_counts(ChunkReader& in, size_t rows, std::vector<uint32_t>& counts, size_t& total) {
  if (!read_ints(in, rows, counts)) return false;
  total = sum(counts);
  return total <= kMaxEntries;
}

bool all_text(const std::vector<ValueView>& values) {
  return std::all_of(values.begin(), values.end(), [](const ValueView& v) { return v.type == ValueType::kString; });
}

bool read_texts(ChunkReader& in, size_t entries, Arena& arena, DecodedColumn& out) {
  return out.read(in, arena) && out.codes.size() == entries && all_text(out.values);
}

bool read_names(ChunkReader& in, std::span<const uint32_t> operations, uint32_t operation_count, Arena& arena,
                DecodedDetails& out) {
  uint32_t count = read_entries(in, kMaxBlockRows);
  if (in.failed() || !out.name_table.read(in, count)) return false;
  if (!in.take(out.name_table.view_bytes())) return false;
  out.names = out.name_table.views(arena);
  return all_text(out.names) && read_predicted(in, operations, operation_count, out.name) &&
         std::all_of(out.name.begin(), out.name.end(), [&](uint32_t name) { return name < count; });
}

}  // namespace

bool DecodedColumn::read(ChunkReader& in, Arena& arena) {
  ColumnReader reader;
  if (!reader.read(in) || !reader.read_codes(in, codes)) return false;
  table = reader.take_values();
  if (!in.take(table.view_bytes())) return false;
  values = table.views(arena);
  return true;
}

std::string encode_details(const BlockRows& rows, Packer& packer) {
  std::string body;
  auto predicted = [&](std::span<const uint32_t> values) {
    write_predicted(body, packer, values, rows.operation_index, static_cast<uint32_t>(rows.operations.size()));
  };
  auto ints = [&](const std::vector<uint64_t>& values) { packer.ints(body, std::span<const uint64_t>(values)); };
  Dictionary names;
  names.build(rows.names);
  ByteWriter(body).varint(names.values().size());
  write_values(body, packer, names.values());
  predicted(names.codes());
  std::vector<uint32_t> kinds;
  for (const SegmentRow& row : rows.rows) kinds.push_back(static_cast<uint32_t>(row.row->kind));
  predicted(kinds);
  predicted(rows.scopes);
  ints(rows.flags);
  ints(rows.dropped_attributes);
  ints(rows.dropped_events);
  ints(rows.dropped_links);
  write_distinct(body, packer, rows.messages);
  write_distinct(body, packer, rows.trace_states);
  return body;
}

bool decode_details(const ChunkBody& body, const BlockZone& zone, std::span<const uint32_t> operation_index,
                    Arena& arena, DecodedDetails& out) {
  ChunkReader in(body);
  auto operations = static_cast<uint32_t>(zone.operations.size());
  size_t n = zone.rows;
  constexpr auto kLastKind = static_cast<uint32_t>(SpanKind::kConsumer);
  return read_names(in, operation_index, operations, arena, out) &&
         read_predicted(in, operation_index, operations, out.kind) &&
         std::all_of(out.kind.begin(), out.kind.end(), [](uint32_t kind) { return kind <= kLastKind; }) &&
         read_predicted(in, operation_index, operations, out.scope) && read_ints(in, n, out.flags) &&
         read_ints(in, n, out.dropped_attributes) && read_ints(in, n, out.dropped_events) &&
         read_ints(in, n, out.dropped_links) && read_texts(in, n, arena, out.messages) &&
         read_texts(in, n, arena, out.trace_states) && in.at_end();
}

std::string encode_resources(const BlockRows& rows, Packer& packer) {
  std::string body;
  write_predicted(body, packer, rows.resources, rows.operation_index, static_cast<uint32_t>(rows.operations.size()));
  return body;
}

bool decode_resources(const ChunkBody& body, const BlockZone& zone, std::span<const uint32_t> operation_index,
                      std::vector<uint32_t>& out) {
  ChunkReader in(body);
  return read_predicted(in, operation_index, static_cast<uint32_t>(zone.operations.size()), out) && in.at_end();
}

bool DecodedLists::read(ChunkReader& in, size_t lists, Arena& arena) {
  size_t total = 0;
  return read_counts(in, lists, counts, total) && read_texts(in, total, arena, keys) && values.read(in, arena) &&
         values.codes.size() == total;
}

std::string encode_events(const BlockRows& rows, Packer& packer) {
  std::string body;
  packer.ints(body, std::span<const uint32_t>(rows.event_counts));
  packer.ints(body, std::span<const uint64_t>(rows.event_times));
  write_distinct(body, packer, rows.event_names);
  packer.ints(body, std::span<const uint64_t>(rows.event_dropped));
  write_lists(body, packer, rows.event_attributes);
  return body;
}

bool decode_events(const ChunkBody& body, const BlockZone& zone, Arena& arena, DecodedEvents& out) {
  ChunkReader in(body);
  size_t n = 0;
  return read_counts(in, zone.rows, out.counts, n) && read_ints(in, n, out.times) &&
         read_texts(in, n, arena, out.names) && read_ints(in, n, out.dropped) && out.attributes.read(in, n, arena) &&
         in.at_end();
}

std::string encode_links(const BlockRows& rows, Packer& packer) {
  std::string body;
  packer.ints(body, std::span<const uint32_t>(rows.link_counts));
  packer.plane(body, rows.link_ids);
  write_distinct(body, packer, rows.link_states);
  packer.ints(body, std::span<const uint64_t>(rows.link_flags));
  packer.ints(body, std::span<const uint64_t>(rows.link_dropped));
  write_lists(body, packer, rows.link_attributes);
  return body;
}

bool decode_links(const ChunkBody& body, const BlockZone& zone, Arena& arena, DecodedLinks& out) {
  ChunkReader in(body);
  size_t n = 0;
  Stream ids;
  if (!read_counts(in, zone.rows, out.counts, n)) return false;
  if (!read_stream(in, n * kLinkIdBytes, ids) || !unpack(in, ids, out.ids_buffer, out.ids)) return false;
  return read_texts(in, n, arena, out.trace_states) && read_ints(in, n, out.flags) && read_ints(in, n, out.dropped) &&
         out.attributes.read(in, n, arena) && in.at_end();
}

}  // namespace fathom::store::block

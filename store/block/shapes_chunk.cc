#include "store/block/shapes_chunk.h"

#include <algorithm>
#include <numeric>

#include "store/block/columns.h"

namespace fathom::store::block {

namespace {

constexpr size_t kListBytes = 32;  // what the allocator adds to a short list

std::string_view bytes_of(const uint32_t* begin, const uint32_t* end) {
  return {reinterpret_cast<const char*>(begin), static_cast<size_t>(end - begin) * sizeof(uint32_t)};
}

// Each row's list of keys as the bytes of a text, so that the dictionary of values finds the distinct ones.
std::vector<ValueView> shape_texts(const BlockRows& rows) {
  std::vector<ValueView> texts;
  const uint32_t* keys = rows.shape_keys.data();
  for (size_t i = 0; i + 1 < rows.shape_begins.size(); ++i) {
    texts.push_back(ValueView::of_string(bytes_of(keys + rows.shape_begins[i], keys + rows.shape_begins[i + 1])));
  }
  return texts;
}

void write_keys(std::string& out, const BlockRows& rows, const KeyRegistry& keys, const std::vector<uint32_t>& numbers,
                Packer& packer) {
  std::vector<uint32_t> codes;
  std::vector<ValueView> names;
  for (size_t i = 0; i < rows.keys.size(); ++i) {
    codes.push_back(numbers[i] + 1);
    if (numbers[i] == kNone) names.push_back(ValueView::of_string(keys[rows.keys[i].key].name));
  }
  ByteWriter(out).varint(codes.size());
  packer.ints(out, std::span<const uint32_t>(codes));
  write_values(out, packer, names);
}

bool read_keys(ChunkReader& in, DecodedShapes& out) {
  std::vector<uint32_t> codes;
  ValueTable table;
  if (!read_ints(in, read_entries(in), codes)) return false;
  auto rest = static_cast<uint32_t>(std::count(codes.begin(), codes.end(), 0u));
  if (!table.read(in, rest)) return false;
  if (!in.take(table.view_bytes() + codes.size() * sizeof(DecodedShapes::Key))) return false;
  Arena arena;
  std::vector<ValueView> names = table.views(arena);
  for (const ValueView& name : names) {
    if (!in.take(name.text.size())) return false;
  }
  out.keys.reserve(codes.size());
  size_t next = 0;
  for (uint32_t code : codes) {
    out.keys.push_back({code - 1, code == 0 ? std::string(names[next++].text) : std::string()});
  }
  return true;
}

bool read_lists(ChunkReader& in, DecodedShapes& out) {
  std::vector<uint32_t> sizes, keys;
  if (!read_ints(in, read_entries(in, kMaxBlockRows), sizes)) return false;
  uint64_t total = std::accumulate(sizes.begin(), sizes.end(), uint64_t{0});
  if (total > kMaxEntries || !read_ints(in, total, keys)) return false;
  if (std::any_of(keys.begin(), keys.end(), [&](uint32_t key) { return key >= out.keys.size(); })) return false;
  if (!in.take(sizes.size() * (sizeof(out.shapes[0]) + kListBytes) + total * sizeof(uint32_t))) return false;
  out.shapes.reserve(sizes.size());
  auto at = keys.begin();
  for (uint32_t size : sizes) {
    out.shapes.emplace_back(at, at + size);
    at += size;
  }
  return true;
}

}  // namespace

std::string encode_shapes(const BlockRows& rows, const KeyRegistry& keys, const std::vector<uint32_t>& numbers,
                          Packer& packer) {
  Dictionary shapes;
  shapes.build(shape_texts(rows));
  std::vector<uint32_t> sizes, flat;
  for (const ValueView& shape : shapes.values()) {
    sizes.push_back(static_cast<uint32_t>(shape.text.size() / sizeof(uint32_t)));
    size_t before = flat.size();
    flat.resize(before + sizes.back());
    if (sizes.back() > 0) std::memcpy(flat.data() + before, shape.text.data(), shape.text.size());
  }
  std::string body;
  write_keys(body, rows, keys, numbers, packer);
  ByteWriter(body).varint(sizes.size());
  packer.ints(body, std::span<const uint32_t>(sizes));
  packer.ints(body, std::span<const uint32_t>(flat));
  packer.ints(body, std::span<const uint32_t>(shapes.codes()));
  return body;
}

bool decode_shapes(const ChunkBody& body, const BlockZone& zone, DecodedShapes& out) {
  ChunkReader in(body);
  bool read = read_keys(in, out) && read_lists(in, out) && read_ints(in, zone.rows, out.row_shape) && in.at_end();
  return read && std::all_of(out.row_shape.begin(), out.row_shape.end(),
                             [&](uint32_t shape) { return shape < out.shapes.size(); });
}

DecodedShapes::ColumnKeys DecodedShapes::in_column(uint32_t number) const {
  ColumnKeys column;
  for (const std::vector<uint32_t>& shape : shapes) {
    std::vector<uint32_t>& members = column.emplace_back();
    for (uint32_t key : shape) {
      if (keys[key].number == number) members.push_back(key);
    }
  }
  return column;
}

uint32_t DecodedShapes::rest_key(std::string_view name) const {
  for (uint32_t i = 0; i < keys.size(); ++i) {
    if (keys[i].number == kNone && keys[i].name == name) return i;
  }
  return kNone;
}

}  // namespace fathom::store::block

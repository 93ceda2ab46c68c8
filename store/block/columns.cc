#include "store/block/columns.h"

#include <algorithm>
#include <bit>

#include "base/hash.h"
#include "store/block/process_seed.h"

namespace fathom::store::block {

namespace {

enum CodeForm : uint8_t { kIdentity = 0, kConstant = 1, kInts = 2, kRuns = 3 };
enum RunSymbol : uint8_t { kNew = 0, kSame = 1, kOther = 2 };

// How the codes of a column fall into the runs' symbols.
struct RunCounts {
  uint32_t fresh = 0;
  uint32_t same = 0;
  uint32_t other = 0;
};

// Calls `each(symbol, code)` for every code.
template <typename Each>
void walk_runs(std::span<const uint32_t> codes, Each each) {
  uint32_t next = 0, previous = 0;
  for (uint32_t code : codes) {
    uint8_t symbol = code == next ? kNew : code == previous ? kSame : kOther;
    if (symbol == kNew) ++next;
    previous = code;
    each(symbol, code);
  }
}

RunCounts count_runs(std::span<const uint32_t> codes) {
  RunCounts counts;
  walk_runs(codes, [&](uint8_t symbol, uint32_t) {
    if (symbol == kNew) ++counts.fresh;
    if (symbol == kSame) ++counts.same;
    if (symbol == kOther) ++counts.other;
  });
  return counts;
}

// A guess of what storing these values takes, in bits: texts shrink by about half.
uint64_t value_bits(std::span<const ValueView> values) {
  uint64_t least = UINT64_MAX, most = 0, texts = 0;
  for (const ValueView& value : values) {
    texts += value.text.size();
    uint64_t number = value.type == ValueType::kInt ? value.bits ^ uint64_t { 1 } << 63 : value.bits;
    least = std::min(least, number);
    most = std::max(most, number);
  }
  return values.size() * static_cast<uint64_t>(std::bit_width(most - least)) + texts * 4;
}

bool identity_is_smaller(std::span<const ValueView> entries, const Dictionary& dictionary, const RunCounts& runs) {
  size_t distinct = dictionary.values().size();
  if (distinct == entries.size()) return true;
  if (distinct * 4 < entries.size()) return false;
  uint64_t codes = runs.other * static_cast<uint64_t>(std::bit_width(distinct)) + entries.size() / 2;
  return value_bits(entries) < value_bits(dictionary.values()) + codes;
}

void write_runs(std::string& out, Packer& packer, std::span<const uint32_t> codes) {
  std::string symbols;
  std::vector<uint32_t> others;
  walk_runs(codes, [&](uint8_t symbol, uint32_t code) {
    symbols.push_back(static_cast<char>(symbol));
    if (symbol == kOther) others.push_back(code);
  });
  packer.plane(out, symbols);
  packer.ints(out, std::span<const uint32_t>(others));
}

void write_codes(std::string& out, Packer& packer, const Dictionary& dictionary, const RunCounts& runs) {
  std::span<const uint32_t> codes = dictionary.codes();
  size_t distinct = dictionary.values().size();
  ByteWriter writer(out);
  if (distinct == 1) {
    writer.u8(kConstant);
  } else if (distinct > 16 && runs.other * 8 < codes.size()) {
    writer.u8(kRuns);
    write_runs(out, packer, codes);
  } else {
    writer.u8(kInts);
    packer.ints(out, codes);
  }
}

bool all_below(const std::vector<uint32_t>& values, uint32_t limit) {
  uint32_t most = 0;
  for (uint32_t value : values) most = std::max(most, value);
  return values.empty() || most < limit;
}

constexpr uint32_t kNothingYet = UINT32_MAX;

uint64_t slot_hash(const ValueView& value) {
  if (value.is_text()) return hash64(value.text, process_seed());
  uint64_t hash = (value.bits ^ process_seed()) + static_cast<uint64_t>(value.type);
  hash = (hash ^ hash >> 33) * 0xff51afd7ed558ccdULL;
  hash = (hash ^ hash >> 33) * 0xc4ceb9fe1a85ec53ULL;
  return hash ^ hash >> 33;
}

}  // namespace

void Dictionary::build(std::span<const ValueView> entries) {
  size_t slots = std::bit_ceil(std::max<size_t>(64, entries.size() * 2));
  slots_.assign(slots, 0);
  hashes_.clear();
  values_.clear();
  codes_.clear();
  codes_.reserve(entries.size());
  for (const ValueView& value : entries) codes_.push_back(code_of(value, slot_hash(value)));
}

uint32_t Dictionary::code_of(const ValueView& value, uint64_t hash) {
  size_t mask = slots_.size() - 1;
  size_t at = hash & mask;
  for (; slots_[at] != 0; at = (at + 1) & mask) {
    uint32_t code = slots_[at] - 1;
    if (hashes_[code] == hash && values_[code] == value) return code;
  }
  values_.push_back(value);
  hashes_.push_back(hash);
  slots_[at] = static_cast<uint32_t>(values_.size());
  return slots_[at] - 1;
}

void write_column(std::string& out, Packer& packer, std::span<const ValueView> entries, const Dictionary& dictionary) {
  RunCounts runs = count_runs(dictionary.codes());
  bool identity = identity_is_smaller(entries, dictionary, runs);
  std::span<const ValueView> values = identity ? entries : std::span<const ValueView>(dictionary.values());
  ByteWriter writer(out);
  writer.varint(entries.size());
  writer.varint(values.size());
  write_values(out, packer, values);
  if (entries.empty()) return;
  if (identity) {
    writer.u8(kIdentity);
  } else {
    write_codes(out, packer, dictionary, runs);
  }
}

bool ColumnReader::read(ChunkReader& in) {
  entries_ = read_entries(in);
  uint32_t values = read_entries(in, entries_);
  if (entries_ > 0 && values == 0) in.fail();
  return !in.failed() && values_.read(in, values);
}

bool ColumnReader::read_codes(ChunkReader& in, std::vector<uint32_t>& out) {
  out.clear();
  if (entries_ == 0) return true;
  uint8_t form = in.u8();
  if (in.failed() || form > kRuns) return in.fail() != 0;
  if (form == kRuns) return read_runs(in, out);
  if (form == kInts) {
    return read_ints(in, entries_, out) && (all_below(out, values_.size()) || in.fail() != 0);
  }
  if (!in.take_array<uint32_t>(entries_)) return false;
  out.assign(entries_, 0);
  if (form == kConstant) return true;
  if (values_.size() != entries_) return in.fail() != 0;
  for (uint32_t i = 0; i < entries_; ++i) out[i] = i;
  return true;
}

bool ColumnReader::read_runs(ChunkReader& in, std::vector<uint32_t>& out) {
  Stream stream;
  std::string buffer;
  std::string_view symbols;
  if (!read_stream(in, entries_, stream) || !unpack(in, stream, buffer, symbols)) return in.fail() != 0;
  size_t other_count = static_cast<size_t>(std::count(symbols.begin(), symbols.end(), static_cast<char>(kOther)));
  std::vector<uint32_t> others;
  if (!read_ints(in, other_count, others) || !in.take_array<uint32_t>(entries_)) return false;
  out.resize(entries_);
  uint32_t next = 0, previous = 0;
  const uint32_t* other = others.data();
  for (uint32_t i = 0; i < entries_; ++i) {
    uint8_t symbol = static_cast<uint8_t>(symbols[i]);
    if (symbol > kOther) return in.fail() != 0;
    previous = symbol == kSame ? previous : symbol == kNew ? next++ : *other++;
    out[i] = previous;
  }
  return all_below(out, values_.size()) || in.fail() != 0;
}

void write_predicted(std::string& out, Packer& packer, std::span<const uint32_t> values,
                     std::span<const uint32_t> contexts, uint32_t context_count) {
  std::vector<uint32_t> last(context_count, kNothingYet);
  std::vector<uint32_t> symbols(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    symbols[i] = last[contexts[i]] == values[i] ? 0 : values[i] + 1;
    last[contexts[i]] = values[i];
  }
  packer.ints(out, std::span<const uint32_t>(symbols));
}

bool read_predicted(ChunkReader& in, std::span<const uint32_t> contexts, uint32_t context_count,
                    std::vector<uint32_t>& out) {
  if (!read_ints(in, contexts.size(), out) || !in.take_array<uint32_t>(context_count)) return false;
  std::vector<uint32_t> last(context_count, 0);
  for (size_t i = 0; i < out.size(); ++i) {
    uint32_t& expected = last[contexts[i]];
    if (out[i] != 0) expected = out[i] - 1;
    out[i] = expected;
  }
  return true;
}

}  // namespace fathom::store::block

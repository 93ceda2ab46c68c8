#include "store/block/values.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include "store/block/text_form.h"

namespace fathom::store::block {

namespace {

// The layout byte: type in the low four bits, form of texts above.
constexpr uint8_t kMixed = 15;
constexpr int kFormShift = 4;
// Of a text that is spelled out in an arena: a UUID takes 36 characters for 16 bytes, hex two for one.
constexpr uint64_t kSpelledBytesPerByte = 3;
constexpr uint64_t kSpelledTextBytes = sizeof(std::string) + 2 * sizeof(void*);
constexpr uint8_t kLastType = static_cast<uint8_t>(ValueType::kCut);

bool is_text(ValueType type) {
  return type == ValueType::kString || type >= ValueType::kBytes;
}
bool is_number(ValueType type) {
  return !is_text(type) && type != ValueType::kEmpty;
}

// Integers are biased so that small ones of either sign lie close together.
constexpr uint64_t kSign = uint64_t{1} << 63;
uint64_t stored_number(ValueType type, uint64_t bits) {
  return type == ValueType::kInt ? bits ^ kSign : bits;
}

bool all_have_form(std::span<const ValueView> values, TextForm form) {
  return std::all_of(values.begin(), values.end(),
                     [form](const ValueView& v) { return !v.is_text() || has_form(v.text, form); });
}

TextForm common_form(std::span<const ValueView> values) {
  if (all_have_form(values, TextForm::kUuid)) return TextForm::kUuid;
  if (all_have_form(values, TextForm::kHex)) return TextForm::kHex;
  return TextForm::kPlain;
}

bool one_type(std::span<const ValueView> values) {
  return std::all_of(values.begin(), values.end(), [&](const ValueView& v) { return v.type == values[0].type; });
}

void write_types(std::string& out, Packer& packer, std::span<const ValueView> values) {
  std::string types;
  for (const ValueView& value : values) types.push_back(static_cast<char>(value.type));
  packer.plane(out, types);
}

void write_numbers(std::string& out, Packer& packer, std::span<const ValueView> values) {
  std::vector<uint64_t> numbers;
  for (const ValueView& value : values) {
    if (is_number(value.type)) numbers.push_back(stored_number(value.type, value.bits));
  }
  packer.ints(out, std::span<const uint64_t>(numbers));
}

void write_texts(std::string& out, Packer& packer, std::span<const ValueView> values, TextForm form) {
  std::string bytes;
  std::vector<uint32_t> lengths;
  for (const ValueView& value : values) {
    if (!value.is_text()) continue;
    size_t before = bytes.size();
    pack_text(value.text, form, bytes);
    lengths.push_back(static_cast<uint32_t>(bytes.size() - before));
  }
  if (lengths.empty()) return;
  packer.ints(out, std::span<const uint32_t>(lengths));
  packer.blob(out, bytes);
}

// The integer that `text` is the canonical spelling of.
std::optional<int64_t> canonical_int(std::string_view text) {
  int64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  if (value_text(ValueView::of_int(value)) != text) return std::nullopt;
  return value;
}

// The bits that a number of `type` spelled `text` has, as stored; nothing when there is no such number. Every NaN is
// spelled alike, so NaNs have no bits of their own.
std::optional<uint64_t> number_bits(ValueType type, std::string_view text) {
  if (type == ValueType::kInt) {
    auto value = canonical_int(text);
    return value ? std::optional(stored_number(type, static_cast<uint64_t>(*value))) : std::nullopt;
  }
  double value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || std::isnan(value)) return std::nullopt;
  ValueView view = ValueView::of_double(value);
  return value_text(view) == text ? std::optional(view.bits) : std::nullopt;
}

bool spells_nan(std::string_view text) {
  return text.find("nan") != text.npos;
}

}  // namespace

uint64_t pair_hash(const ValueView& value, uint64_t seed) {
  if (value.is_text() && value.type != ValueType::kBytes) return hash64(value.text, seed);
  return pair_hash(value_text(value), seed);
}

void write_values(std::string& out, Packer& packer, std::span<const ValueView> values) {
  if (values.empty()) return;
  bool mixed = !one_type(values);
  TextForm form = common_form(values);
  uint8_t type = mixed ? kMixed : static_cast<uint8_t>(values[0].type);
  ByteWriter(out).u8(static_cast<uint8_t>(type | static_cast<uint8_t>(form) << kFormShift));
  if (mixed) write_types(out, packer, values);
  write_numbers(out, packer, values);
  write_texts(out, packer, values, form);
}

bool ValueTable::read(ChunkReader& in, uint32_t count) {
  count_ = count;
  if (count == 0) return true;
  uint8_t layout = in.u8();
  uint8_t type = layout & 15, form = layout >> kFormShift;
  mixed_ = type == kMixed;
  type_ = static_cast<ValueType>(mixed_ ? 0 : type);
  if ((!mixed_ && type > kLastType) || form > static_cast<uint8_t>(TextForm::kHex)) return in.fail() != 0;
  if (mixed_) {
    Stream stream;
    std::string_view types;
    if (!read_stream(in, count, stream) || !unpack(in, stream, *buffer_, types)) return in.fail() != 0;
    if (!in.take(count)) return false;
    types_.assign(types.begin(), types.end());
    if (std::any_of(types_.begin(), types_.end(), [](uint8_t t) { return t > kLastType; })) return in.fail() != 0;
  }
  size_t numbers = is_number(type_) ? count : 0;
  if (mixed_) {
    numbers = static_cast<size_t>(
        std::count_if(types_.begin(), types_.end(), [](uint8_t t) { return is_number(static_cast<ValueType>(t)); }));
  }
  return read_ints(in, numbers, numbers_) && read_texts(in, text_count(), form);
}

uint32_t ValueTable::text_count() const {
  if (!mixed_) return is_text(type_) ? count_ : 0;
  return static_cast<uint32_t>(
      std::count_if(types_.begin(), types_.end(), [](uint8_t t) { return is_text(static_cast<ValueType>(t)); }));
}

bool ValueTable::read_texts(ChunkReader& in, size_t texts, uint8_t form) {
  form_ = form;
  if (texts == 0) return true;
  Stream stream;
  if (!read_ints(in, texts, lengths_) || !read_blob(in, stream) || !unpack(in, stream, *buffer_, bytes_)) {
    return in.fail() != 0;
  }
  uint64_t total = 0;
  for (uint32_t length : lengths_) total += length;
  bool sizes_hold = form_ != static_cast<uint8_t>(TextForm::kUuid) ||
                    std::all_of(lengths_.begin(), lengths_.end(), [](uint32_t length) { return length == 16; });
  return (total == bytes_.size() && sizes_hold) || in.fail() != 0;
}

std::vector<uint32_t> ValueTable::find_texts(std::string_view text) const {
  std::vector<uint32_t> found;
  TextForm form = static_cast<TextForm>(form_);
  if (lengths_.empty() || !has_form(text, form)) return found;
  std::string needle;
  pack_text(text, form, needle);
  const char* at = bytes_.data();
  for (uint32_t i = 0; i < lengths_.size(); at += lengths_[i++]) {
    if (lengths_[i] == needle.size() && std::memcmp(at, needle.data(), needle.size()) == 0) found.push_back(i);
  }
  return found;
}

std::vector<uint32_t> ValueTable::find(std::string_view text) const {
  std::vector<uint32_t> found;
  if (mixed_ || type_ == ValueType::kBytes || (type_ == ValueType::kDouble && spells_nan(text))) {
    find_mixed(text, found);
  } else if (is_text(type_)) {
    return find_texts(text);
  } else if (type_ == ValueType::kInt || type_ == ValueType::kDouble) {
    auto bits = number_bits(type_, text);
    for (uint32_t i = 0; bits && i < count_; ++i) {
      if (numbers_[i] == *bits) found.push_back(i);
    }
  } else {
    find_mixed(text, found);  // empty and bool: few
  }
  return found;
}

void ValueTable::find_mixed(std::string_view text, std::vector<uint32_t>& out) const {
  Arena arena;
  std::vector<ValueView> all = views(arena);
  for (uint32_t i = 0; i < all.size(); ++i) {
    bool plain = all[i].is_text() && all[i].type != ValueType::kBytes;
    if (plain ? all[i].text == text : value_text(all[i]) == text) out.push_back(i);
  }
}

std::vector<ValueView> ValueTable::views(Arena& arena, std::span<const uint8_t> needed) const {
  std::vector<ValueView> out(count_);
  TextForm form = static_cast<TextForm>(form_);
  size_t number = 0, text = 0, offset = 0;
  for (uint32_t i = 0; i < count_; ++i) {
    ValueView& value = out[i];
    value.type = type_at(i);
    if (is_number(value.type)) value.bits = stored_number(value.type, numbers_[number++]);
    if (!is_text(value.type)) continue;
    value.text = bytes_.substr(offset, lengths_[text]);
    offset += lengths_[text++];
    bool spell = form != TextForm::kPlain && (needed.empty() || needed[i]);
    if (spell) value.text = arena.emplace_back(spell_text(value.text, form));
  }
  return out;
}

uint64_t ValueTable::view_bytes(std::span<const uint8_t> needed) const {
  uint64_t bytes = uint64_t{count_} * sizeof(ValueView);
  if (static_cast<TextForm>(form_) == TextForm::kPlain) return bytes;
  size_t text = 0;
  for (uint32_t i = 0; i < count_; ++i) {
    if (!is_text(type_at(i))) continue;
    const uint64_t length = lengths_[text++];
    if (needed.empty() || needed[i]) bytes += kSpelledBytesPerByte * length + kSpelledTextBytes;
  }
  return bytes;
}

}  // namespace fathom::store::block

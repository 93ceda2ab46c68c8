// Constants and the value codec of the batch format; docs/formats/batch.md has the bytes in prose.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "store/span.h"

namespace fathom::store::batch_format {

inline constexpr uint8_t kVersion = 1;
inline constexpr uint8_t kVersionWithIdentity = 2;  // written only where there is one, so that others' bytes stay
inline constexpr uint8_t kHasClock = 1;
inline constexpr uint8_t kHasIdentity = 2;
inline constexpr size_t kIdentityBytes = 16;

// The row's first byte: which optional parts follow, kind and status.
inline constexpr uint8_t kHasParent = 1;
inline constexpr int kKindShift = 1;    // 3 bits
inline constexpr int kStatusShift = 4;  // 2 bits

// A value with its text replaced by the text's number in the batch's string table.
void write_value(ByteWriter& out, const ValueView& value, uint32_t text);
ValueView read_value(ByteReader& in, const std::vector<std::string_view>& strings);

// A string's number; a number outside the table fails the reader.
inline uint32_t read_index(ByteReader& in, size_t table_size) {
  uint32_t index = in.varint32();
  if (index >= table_size) return static_cast<uint32_t>(in.fail());
  return index;
}
inline std::string_view read_string(ByteReader& in, const std::vector<std::string_view>& strings) {
  uint32_t index = read_index(in, strings.size());
  return in.failed() ? std::string_view() : strings[index];
}

template <typename Id>
Id read_id(ByteReader& in) {
  std::string_view raw = in.raw(sizeof(Id::bytes));
  return Id::from_bytes(raw).value_or(Id{});
}

}  // namespace fathom::store::batch_format

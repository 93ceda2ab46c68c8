// What all messages have in common: texts within limits, ids of their size, and fields that are read in place.
//
// Thread safety: pure functions. Errors: false for what is malformed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/protobuf_wire.h"
#include "base/utf8.h"
#include "ingest/limits.h"

namespace fathom::ingest {

// UTF-8, whatever came, and at most `most` bytes: what comes from programs may be anything.
inline std::string text_of(std::string_view raw, size_t most = kMostTextBytes) {
  std::string text = repair_utf8(whole_characters(raw, most), most);
  return std::string(whole_characters(text, most));
}
inline std::string name_text_of(std::string_view raw) {
  return text_of(raw, kMostNameBytes);
}

template <typename AnyId>
std::string bytes_of(const AnyId& id) {
  return std::string(id.view());
}
// Empty for zero.
template <typename AnyId>
std::string optional_bytes_of(const AnyId& id) {
  return id.is_zero() ? std::string() : bytes_of(id);
}

template <typename AnyId>
bool read_id(std::string_view raw, AnyId& id) {
  std::optional<AnyId> read = AnyId::from_bytes(raw);
  if (read) id = *read;
  return read.has_value();
}
// One that need not be there: empty stands for zero, or for none.
template <typename AnyId>
bool read_optional_id(std::string_view raw, AnyId& id) {
  id = {};
  return raw.empty() || read_id(raw, id);
}
template <typename AnyId>
bool read_optional_id(std::string_view raw, std::optional<AnyId>& id) {
  id = AnyId::from_bytes(raw);
  return raw.empty() || id.has_value();
}

// Calls `take` with every field of a message; false when its bytes are malformed or `take` says so.
template <typename Take>
bool each_field(std::string_view message, Take take) {
  WireReader reader(message);
  for (WireField field; reader.next(field);) {
    if (!take(field)) return false;
  }
  return !reader.failed();
}

}  // namespace fathom::ingest

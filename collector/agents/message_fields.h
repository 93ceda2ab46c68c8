// What the parsers of the agents' messages have in common: fields one by one, ids of their size, texts within limits.
//
// Thread safety: pure functions. Ownership: views point into the message. Errors: false for what is malformed.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/utf8.h"
#include "base/protobuf_wire.h"
#include "store/span.h"

namespace fathom::collector {

inline constexpr size_t kMostTextBytes = 256;
inline constexpr size_t kMostNameBytes = 1024;  // of services and operations, which must be those of the spans

// UTF-8, whatever came, and no longer than that.
inline std::string text_of(std::string_view raw, size_t most = kMostTextBytes) {
  std::string text = repair_utf8(whole_characters(raw, most), most);
  return std::string(whole_characters(text, most));
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

inline bool read_clock(std::string_view message, std::optional<store::ClockOffset>& clock) {
  clock.emplace();
  return each_field(message, [&](const WireField& field) {
    if (field.tag == varint_field(1)) clock->offset_nano = unzigzag(field.bits);
    if (field.tag == varint_field(2)) clock->error_nano = field.bits;
    return true;
  });
}

template <typename AnyId>
bool read_id(std::string_view raw, AnyId& id) {
  std::optional<AnyId> read = AnyId::from_bytes(raw);
  if (read) id = *read;
  return read.has_value();
}

// One that need not be there: empty stands for zero.
template <typename AnyId>
bool read_optional_id(std::string_view raw, AnyId& id) {
  id = {};
  return raw.empty() || read_id(raw, id);
}

// A loss of a list: its name and its count.
struct NamedCount {
  std::string name;
  uint64_t count = 0;
};
inline bool read_named_count(std::string_view message, NamedCount& loss) {
  return each_field(message, [&](const WireField& field) {
    if (field.tag == bytes_field(1)) loss.name = text_of(field.bytes);
    if (field.tag == varint_field(2)) loss.count = field.bits;
    return true;
  });
}

}  // namespace fathom::collector

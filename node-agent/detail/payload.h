// read_payload(): the values of an event's payload, each handed to a visitor as what it is.
//
// Purpose: the only code that knows how values lie in a payload: one behind the other, without padding. Thread safety:
// a pure function but for the visitor. Ownership: texts are views of the payload. Errors: false when not all values
// fit; those that do were handed over. Hostility: sizes are checked against what is there.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/bytes.h"
#include "client/pool/detail_layout.h"
#include "node-agent/detail/tracepoint_table.h"

namespace fathom::agent {

template <typename Number, typename Take>
bool read_number(ByteReader& reader, Take&& take) {
  auto number = reader.fixed<Number>();
  if (!reader.failed()) take(number);
  return !reader.failed();
}

template <typename Visitor>
bool read_text(ByteReader& reader, Visitor& visitor) {
  uint32_t size = reader.fixed<uint16_t>();
  // A text has at most what a record holds; the bit is one of those that sizes never need.
  std::string_view bytes = reader.raw(size & (pool::kCutBit - 1));
  if (!reader.failed()) visitor.text(bytes, (size & pool::kCutBit) != 0);
  return !reader.failed();
}

// Inlined, so that the compiler keeps the reader and the visitor in registers: captures read hundreds of thousands of
// values while somebody waits.
template <typename Visitor>
[[gnu::always_inline]] inline bool read_value(ByteReader& reader, pool::FieldType type, Visitor& visitor) {
  auto integer = [&](int64_t value) { visitor.integer(value); };
  auto natural = [&](uint64_t value) { visitor.natural(value); };
  auto real = [&](auto value) { visitor.real(static_cast<double>(value)); };
  switch (type) {
    case pool::FieldType::kInt8:
      return read_number<int8_t>(reader, integer);
    case pool::FieldType::kInt16:
      return read_number<int16_t>(reader, integer);
    case pool::FieldType::kInt32:
      return read_number<int32_t>(reader, integer);
    case pool::FieldType::kInt64:
      return read_number<int64_t>(reader, integer);
    case pool::FieldType::kUint8:
      return read_number<uint8_t>(reader, natural);
    case pool::FieldType::kUint16:
      return read_number<uint16_t>(reader, natural);
    case pool::FieldType::kUint32:
      return read_number<uint32_t>(reader, natural);
    case pool::FieldType::kUint64:
      return read_number<uint64_t>(reader, natural);
    case pool::FieldType::kFloat:
      return read_number<float>(reader, real);
    case pool::FieldType::kDouble:
      return read_number<double>(reader, real);
    case pool::FieldType::kBool:
      return read_number<uint8_t>(reader, [&](uint8_t value) { visitor.truth(value != 0); });
    case pool::FieldType::kString:
    case pool::FieldType::kBytes:
      break;
  }
  return read_text(reader, visitor);
}

template <typename Visitor>
bool read_values(const Tracepoint& tracepoint, ByteReader& reader, Visitor& visitor) {
  for (const TracepointField& field : tracepoint.fields) {
    if (!read_value(reader, field.type, visitor)) return false;
  }
  return true;
}

// `exact`: nothing may be left over (of a short record its padding is). The visitor has integer(int64_t),
// natural(uint64_t), real(double), truth(bool) and text(std::string_view, bool cut).
template <typename Visitor>
bool read_payload(const Tracepoint& tracepoint, std::string_view payload, bool exact, Visitor& visitor) {
  ByteReader reader(payload);
  return read_values(tracepoint, reader, visitor) && (!exact || reader.at_end());
}

}  // namespace fathom::agent

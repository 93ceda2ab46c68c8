// Tracepoints for C++: FATHOM_EVENT("cache.miss", "key", key, "bytes", n). fathom/event_c.h has the contract.
//
// Values beyond those of C: std::string_view and what converts to it, scoped enums. C++17.
#ifndef FATHOM_EVENT_H
#define FATHOM_EVENT_H

#include <cstdint>
#include <string_view>
#include <type_traits>

#include "fathom/event_c.h"

namespace fathom::detail {

template <typename Integer>
constexpr uint32_t integer_type() {
  constexpr uint32_t kWidth = sizeof(Integer) == 1 ? 1 : sizeof(Integer) == 2 ? 2 : sizeof(Integer) == 4 ? 3 : 4;
  return std::is_signed_v<Integer> ? kWidth : kWidth + 4;
}

// The numbers of FieldType in docs/formats/pool.md; 0: nothing that an event can hold.
template <typename Value>
constexpr uint32_t field_type() {
  if constexpr (std::is_same_v<Value, bool>) {
    return 11;
  } else if constexpr (std::is_enum_v<Value>) {
    return field_type<std::underlying_type_t<Value>>();
  } else if constexpr (std::is_integral_v<Value>) {
    return integer_type<Value>();
  } else if constexpr (std::is_same_v<Value, float>) {
    return 9;
  } else if constexpr (std::is_same_v<Value, double>) {
    return 10;
  } else if constexpr (std::is_same_v<Value, fathom_bytes>) {
    return FATHOM_BYTES;
  } else if constexpr (std::is_same_v<Value, fathom_text> || std::is_convertible_v<Value, std::string_view>) {
    return FATHOM_TEXT;
  } else {
    return 0;
  }
}

template <typename Value>
inline __attribute__((always_inline)) fathom_value value_of(const Value& value) {
  using Plain = std::decay_t<Value>;
  constexpr uint32_t kType = field_type<Plain>();
  static_assert(kType != 0, "an event holds integers, enums, bool, float, double, texts and fathom_bytes");
  if constexpr (kType == 9) {
    return fathom_value_float(value);
  } else if constexpr (kType == 10) {
    return fathom_value_double(value);
  } else if constexpr (kType == FATHOM_BYTES) {
    return fathom_value_bytes(value);
  } else if constexpr (std::is_same_v<Plain, fathom_text>) {
    return fathom_value_text(value);
  } else if constexpr (std::is_same_v<Plain, const char*> || std::is_same_v<Plain, char*>) {
    return fathom_value_c_text(value);
  } else if constexpr (kType == FATHOM_TEXT) {
    const std::string_view text = value;
    return fathom_value_data(FATHOM_TEXT, text.data(), text.size());
  } else {
    return fathom_value_number(kType, sizeof(Plain), static_cast<uint64_t>(value));
  }
}

}  // namespace fathom::detail

#define FATHOM_VALUE(value) ::fathom::detail::value_of(value)
#define FATHOM_TYPE(value) static_cast<uint8_t>(::fathom::detail::field_type<std::decay_t<decltype(value)>>())

#endif

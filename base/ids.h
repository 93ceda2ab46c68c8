// Trace and span ids as in W3C trace context: opaque bytes, ordered as bytes, all-zero meaning "none".
//
// Thread safety: plain values. Text form: lower-case hex; parsing takes either case.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

namespace fathom {

std::string to_hex(std::string_view bytes);
// Decodes exactly `size` bytes into `out`; false when `hex` has another length or another character.
bool from_hex(std::string_view hex, uint8_t* out, size_t size);

template <size_t kSize>
struct Id {
  std::array<uint8_t, kSize> bytes{};

  auto operator<=>(const Id&) const = default;

  bool is_zero() const { return *this == Id{}; }
  std::string_view view() const { return {reinterpret_cast<const char*>(bytes.data()), kSize}; }
  std::string hex() const { return to_hex(view()); }

  // From raw bytes; nothing when the length is another one.
  static std::optional<Id> from_bytes(std::string_view raw) {
    if (raw.size() != kSize) return std::nullopt;
    Id id;
    std::memcpy(id.bytes.data(), raw.data(), kSize);
    return id;
  }
  static std::optional<Id> from_hex_text(std::string_view hex) {
    Id id;
    if (!from_hex(hex, id.bytes.data(), kSize)) return std::nullopt;
    return id;
  }
};

using TraceId = Id<16>;
using SpanId = Id<8>;

// Ids are random, so eight of their bytes are hash enough; mixing twice guards against generators that count, whose
// changing byte is the last one and so the topmost here.
struct IdHash {
  template <size_t kSize>
  size_t operator()(const Id<kSize>& id) const {
    uint64_t low;
    std::memcpy(&low, id.bytes.data() + kSize - 8, 8);
    uint64_t high = 0;
    if constexpr (kSize == 16) std::memcpy(&high, id.bytes.data(), 8);
    uint64_t mixed = (low ^ (high * 0x9e3779b97f4a7c15ULL)) * 0xbf58476d1ce4e5b9ULL;
    mixed = (mixed ^ (mixed >> 32)) * 0x94d049bb133111ebULL;
    return mixed ^ (mixed >> 32);
  }
};

}  // namespace fathom

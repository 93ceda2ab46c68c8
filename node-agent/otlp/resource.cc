#include <charconv>
#include <cstdint>
#include <optional>

#include "base/protobuf_writer.h"
#include "node-agent/otlp/span_encoder.h"

namespace fathom::agent {

namespace {

uint16_t load16(std::string_view bytes) {
  uint16_t value;
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

// The pool holds texts only; OpenTelemetry has this one as a number.
std::string any_value(std::string_view key, std::string_view value) {
  std::string any;
  uint32_t number = 0;
  auto [end, fault] = std::from_chars(value.data(), value.data() + value.size(), number);
  bool is_number = fault == std::errc{} && end == value.data() + value.size();
  if (key == "process.pid" && is_number) {
    WireAppender(any).varint_field(3, number);
  } else {
    WireAppender(any).bytes_field(1, value);
  }
  return any;
}

struct Pair {
  std::string_view key;
  std::string_view value;
};

// Takes it off the text; nothing when what is left does not fit its length.
std::optional<Pair> next_pair(std::string_view& rest) {
  if (rest.size() < 4) return std::nullopt;
  size_t key_bytes = load16(rest);
  size_t value_bytes = load16(rest.substr(2));
  if (key_bytes + value_bytes > rest.size() - 4) return std::nullopt;
  Pair pair{rest.substr(4, key_bytes), rest.substr(4 + key_bytes, value_bytes)};
  rest.remove_prefix(4 + key_bytes + value_bytes);
  return pair;
}

}  // namespace

std::string encode_resource(std::string_view rest) {
  std::string resource;
  while (std::optional<Pair> next = next_pair(rest)) {
    std::string pair;
    WireAppender(pair).bytes_field(1, next->key).bytes_field(2, any_value(next->key, next->value));
    WireAppender(resource).bytes_field(1, pair);
  }
  return resource;
}

std::string value_in_resource(std::string_view rest, std::string_view key) {
  while (std::optional<Pair> next = next_pair(rest)) {
    if (next->key == key) return std::string(next->value);
  }
  return {};
}

}  // namespace fathom::agent

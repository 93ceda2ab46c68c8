#include <charconv>
#include <cstdint>

#include "node-agent/otlp/span_encoder.h"

namespace fathom::agent {

namespace {

uint16_t load16(std::string_view bytes) {
  uint16_t value;
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

void append_field(std::string& out, uint32_t number, std::string_view bytes) {
  char head[16];
  WireWriter writer(head);
  writer.length(number, bytes.size());
  out.append(head, static_cast<size_t>(writer.at() - head)).append(bytes);
}

// The pool holds texts only; OpenTelemetry has this one as a number.
std::string any_value(std::string_view key, std::string_view value) {
  std::string any;
  uint32_t number = 0;
  auto [end, fault] = std::from_chars(value.data(), value.data() + value.size(), number);
  bool is_number = fault == std::errc{} && end == value.data() + value.size();
  if (key != "process.pid" || !is_number) {
    append_field(any, 1, value);
    return any;
  }
  char bytes[16];
  WireWriter writer(bytes);
  writer.varint_field(3, number);
  return {bytes, static_cast<size_t>(writer.at() - bytes)};
}

}  // namespace

std::string encode_resource(std::string_view rest) {
  std::string resource;
  while (rest.size() >= 4) {
    size_t key_bytes = load16(rest);
    size_t value_bytes = load16(rest.substr(2));
    rest.remove_prefix(4);
    if (key_bytes + value_bytes > rest.size()) break;
    std::string_view key = rest.substr(0, key_bytes);
    std::string pair;
    append_field(pair, 1, key);
    append_field(pair, 2, any_value(key, rest.substr(key_bytes, value_bytes)));
    append_field(resource, 1, pair);
    rest.remove_prefix(key_bytes + value_bytes);
  }
  return resource;
}

}  // namespace fathom::agent

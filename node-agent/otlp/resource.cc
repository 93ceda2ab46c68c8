#include <charconv>
#include <cstdint>
#include <optional>

#include "base/ids.h"
#include "base/process_attributes.h"
#include "base/protobuf_writer.h"
#include "node-agent/otlp/pool_resource.h"
#include "node-agent/otlp/span_encoder.h"

namespace fathom::agent {

namespace {

std::string any_number(uint64_t number) {
  std::string any;
  WireAppender(any).varint_field(3, number);
  return any;
}

std::string any_text(std::string_view text) {
  std::string any;
  WireAppender(any).bytes_field(1, text);
  return any;
}

// The pool holds texts only; in OpenTelemetry, process.pid is a number.
std::string any_value(std::string_view key, std::string_view value) {
  uint32_t number = 0;
  auto [end, fault] = std::from_chars(value.data(), value.data() + value.size(), number);
  bool is_number = fault == std::errc{} && end == value.data() + value.size();
  return key == "process.pid" && is_number ? any_number(number) : any_text(value);
}

void append_attribute(std::string& resource, std::string_view key, std::string_view any) {
  std::string pair;
  WireAppender(pair).bytes_field(1, key).bytes_field(2, any);
  WireAppender(resource).bytes_field(1, pair);
}

bool is_of_agent(std::string_view key) {
  return key == kProcessIdAttribute || key == kNodeIdAttribute;
}

}  // namespace

std::string encode_resource(std::string_view rest) {
  std::string resource;
  while (std::optional<ResourcePair> next = next_pair(rest)) {
    if (!is_of_agent(next->key)) append_attribute(resource, next->key, any_value(next->key, next->value));
  }
  return resource;
}

void append_process(std::string& resource, const NodeProcess& process) {
  const Id<16> node{process.node_id};
  if (node.is_zero() || process.pid <= 0) return;
  append_attribute(resource, kProcessIdAttribute, any_number(static_cast<uint64_t>(process.pid)));
  append_attribute(resource, kNodeIdAttribute, any_text(node.hex()));
}

std::string value_in_resource(std::string_view rest, std::string_view key) {
  while (std::optional<ResourcePair> next = next_pair(rest)) {
    if (next->key == key) return std::string(next->value);
  }
  return {};
}

}  // namespace fathom::agent

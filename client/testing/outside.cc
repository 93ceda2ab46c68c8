#include "client/testing/outside.h"

#include <sys/uio.h>

#include <cstring>
#include <fstream>
#include <string_view>

namespace fathom::client::testing {
namespace {

bool read_memory(pid_t pid, uint64_t at, void* out, size_t size) {
  const iovec to = {out, size};
  const iovec from = {reinterpret_cast<void*>(at), size};
  return process_vm_readv(pid, &to, 1, &from, 1, 0) == static_cast<ssize_t>(size);
}

uint64_t varint(std::string_view& bytes) {
  uint64_t value = 0;
  for (int shift = 0; !bytes.empty(); shift += 7) {
    const auto byte = static_cast<uint8_t>(bytes[0]);
    bytes.remove_prefix(1);
    value |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) break;
  }
  return value;
}

// The fields of a message that holds length-delimited ones only.
template <typename Sink>
void for_each_field(std::string_view bytes, const Sink& sink) {
  while (!bytes.empty()) {
    const uint64_t tag = varint(bytes);
    const uint64_t size = varint(bytes);
    if ((tag & 7) != 2 || size > bytes.size()) throw std::string("not the message that was expected");
    sink(tag >> 3, bytes.substr(0, size));
    bytes.remove_prefix(size);
  }
}

void read_attribute(std::string_view message, std::map<std::string, std::string>& out) {
  std::string key, value;
  for_each_field(message, [&](uint64_t number, std::string_view field) {
    if (number == 1) key = field;
    if (number == 2)
      for_each_field(field, [&](uint64_t kind, std::string_view text) { value = kind == 1 ? text : ""; });
  });
  out[key] = value;
}

void read_payload(std::string_view payload, PublishedContext& out) {
  for_each_field(payload, [&](uint64_t number, std::string_view field) {
    if (number == 2) read_attribute(field, out.attributes);
    if (number != 1) return;
    for_each_field(field, [&](uint64_t, std::string_view attribute) { read_attribute(attribute, out.resource); });
  });
}

PublishedContext read_context(pid_t pid, uint64_t at) {
  struct Header {
    char signature[8];
    uint32_t version, payload_bytes;
    uint64_t published_nano, payload;
  } header;
  if (!read_memory(pid, at, &header, sizeof header) || std::memcmp(header.signature, "OTEL_CTX", 8) != 0) return {};
  std::string payload(header.payload_bytes, '\0');
  if (!read_memory(pid, header.payload, payload.data(), payload.size())) return {};
  PublishedContext context = {true, header.version, header.published_nano, {}, {}};
  read_payload(payload, context);
  return context;
}

}  // namespace

PublishedContext find_process_context(pid_t pid) {
  std::ifstream maps("/proc/" + std::to_string(pid) + "/maps");
  for (std::string line; std::getline(maps, line);) {
    if (line.find("/memfd:OTEL_CTX") == std::string::npos && line.find(":OTEL_CTX]") == std::string::npos) continue;
    if (PublishedContext context = read_context(pid, std::stoull(line, nullptr, 16)); context.found) return context;
  }
  return {};
}

}  // namespace fathom::client::testing

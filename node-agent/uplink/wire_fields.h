// Protobuf by hand, for messages whose last field is sent from where it lies.
//
// Thread safety: pure functions. The source of the idea: protobuf's encoding guide, https://protobuf.dev.
#pragma once

#include <cstdint>
#include <string>

#include "base/bytes.h"

namespace fathom::agent {

constexpr uint8_t bytes_tag(uint8_t number) {
  return static_cast<uint8_t>(number << 3 | 2);
}
constexpr uint8_t varint_tag(uint8_t number) {
  return static_cast<uint8_t>(number << 3);
}

template <typename Bytes>
std::string text_of(const Bytes& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Of an AgentMessage whose one field has these fields, and `bytes_behind` of the last of them are still to come.
inline std::string message_head(uint8_t number, const std::string& fields, uint64_t bytes_behind) {
  std::string head;
  ByteWriter out(head);
  out.u8(bytes_tag(number));
  out.varint(fields.size() + bytes_behind);
  out.raw(fields);
  return head;
}

}  // namespace fathom::agent

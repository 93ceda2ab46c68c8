// Messages in protobuf's wire format, for the two formats of others that are exported here, which need few fields: the
// worker links no protobuf.
//
// Thread safety: none needed. Ownership: appends to a string of the caller's.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/bytes.h"

namespace fathom::snapshot {

class ProtoWriter {
 public:
  explicit ProtoWriter(std::string& out) : bytes_(out) {}

  ProtoWriter& number(uint32_t field, uint64_t value) {
    bytes_.varint(uint64_t{field} << 3);
    bytes_.varint(value);
    return *this;
  }
  // A string, or a message that was made before.
  ProtoWriter& bytes(uint32_t field, std::string_view value) {
    bytes_.varint(uint64_t{field} << 3 | 2);
    bytes_.string(value);
    return *this;
  }
  ProtoWriter& packed(uint32_t field, std::span<const uint64_t> values) {
    std::string packed;
    ByteWriter writer(packed);
    for (uint64_t value : values) writer.varint(value);
    return bytes(field, packed);
  }

 private:
  ByteWriter bytes_;
};

}  // namespace fathom::snapshot

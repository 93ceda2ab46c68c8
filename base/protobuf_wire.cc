#include "base/protobuf_wire.h"

#include <array>

namespace fathom {

namespace {

// As deep as protobuf itself follows.
constexpr size_t kMaxGroupDepth = 100;

}  // namespace

bool WireReader::next_any(WireField& field) {
  while (at_ != end_) {
    if (!read_tag(field.tag)) return false;
    if ((field.tag & 7) != kGroupStart) return read_value(field);
    if (!skip_group(field.tag >> 3)) return fail();
  }
  return false;
}

// Five bytes at most, however small the number; bits beyond the 32nd are ignored, as protobuf does. Field numbers begin
// at 1.
bool WireReader::read_tag(uint32_t& tag) {
  const char* begin = at_;
  tag = static_cast<uint32_t>(varint());
  if (failed_ || at_ - begin > 5 || tag >> 3 == 0) return fail();
  return true;
}

// Ten bytes at most; bits beyond the 64th are ignored, as protobuf does.
uint64_t WireReader::long_varint() {
  uint64_t value = 0;
  for (int shift = 0; shift < 70; shift += 7) {
    if (at_ == end_) break;
    uint8_t byte = static_cast<uint8_t>(*at_++);
    value |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return value;
  }
  fail();
  return 0;
}

// Not recursive: the input decides how deep groups nest.
bool WireReader::skip_group(uint32_t number) {
  std::array<uint32_t, kMaxGroupDepth> open;
  size_t depth = 0;
  open[depth++] = number;
  while (depth > 0) {
    WireField field;
    if (!read_tag(field.tag)) return false;
    uint32_t kind = field.tag & 7;
    if (kind == kGroupStart) {
      if (depth == kMaxGroupDepth) return false;
      open[depth++] = field.tag >> 3;
    } else if (kind == kGroupEnd) {
      if (open[--depth] != field.tag >> 3) return false;
    } else if (!read_value(field)) {
      return false;
    }
  }
  return true;
}

}  // namespace fathom

#include "capture/body_writer.h"

#include <gtest/gtest.h>

#include <string>

namespace fathom::capture {
namespace {

std::string in_room(uint64_t value) {
  char room[kMostVarintBytes];
  return {room, put_varint_in_room(room, value)};
}

std::string byte_by_byte(uint64_t value) {
  char bytes[kMostVarintBytes];
  return {bytes, put_varint(bytes, value)};
}

TEST(BodyWriter, AVarintHasTheSameBytesAsOneThatIsWrittenByteByByte) {
  for (int bit = 0; bit < 64; ++bit) {
    const uint64_t power = uint64_t{1} << bit;
    for (uint64_t value :
         {power - 1, power, power + 1, power | 0x5555'5555'5555'5555 >> (63 - bit), ~uint64_t{0} >> bit})
      EXPECT_EQ(in_room(value), byte_by_byte(value)) << value;
  }
  EXPECT_EQ(in_room(UINT64_MAX).size(), kMostVarintBytes);
}

}  // namespace
}  // namespace fathom::capture

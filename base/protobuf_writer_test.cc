#include "base/protobuf_writer.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/protobuf_wire.h"

namespace fathom {
namespace {

// The same fields by any writer.
void write_all(auto& out) {
  const uint8_t id[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  const std::vector<uint64_t> packed{0, 127, 128, UINT64_MAX};
  out.varint_field(1, 0).varint_field(2, UINT64_MAX).varint_field(2047, 300);
  out.fixed64_field(3, 0x0102030405060708).fixed32_field(4, 0x01020304);
  out.bytes_field(5, "text").bytes_field(6, "").id_field(7, id).packed_field(8, packed);
}

TEST(ProtobufWriter, BothTargetsGetTheSameBytes) {
  std::string appended = "before";
  WireAppender appender(appended);
  write_all(appender);
  std::array<char, 256> memory;
  WireWriter writer(memory.data());
  write_all(writer);
  EXPECT_EQ(appended, "before" + std::string(memory.data(), writer.at()));
}

TEST(ProtobufWriter, ReadersGetTheFieldsBack) {
  std::string bytes;
  WireAppender appender(bytes);
  write_all(appender);
  WireReader reader(bytes);
  WireField field;
  auto next = [&](uint32_t tag) { return reader.next(field) && field.tag == tag; };
  ASSERT_TRUE(next(varint_field(1)));
  EXPECT_EQ(field.bits, 0u);
  ASSERT_TRUE(next(varint_field(2)));
  EXPECT_EQ(field.bits, UINT64_MAX);
  ASSERT_TRUE(next(varint_field(2047)));
  EXPECT_EQ(field.bits, 300u);
  ASSERT_TRUE(next(fixed64_field(3)));
  EXPECT_EQ(field.bits, 0x0102030405060708u);
  ASSERT_TRUE(next(fixed32_field(4)));
  EXPECT_EQ(field.bits, 0x01020304u);
  ASSERT_TRUE(next(bytes_field(5)));
  EXPECT_EQ(field.bytes, "text");
  ASSERT_TRUE(next(bytes_field(6)));
  EXPECT_EQ(field.bytes, "");
  ASSERT_TRUE(next(bytes_field(7)));
  EXPECT_EQ(field.bytes, "\1\2\3\4\5\6\7\x08");
  ASSERT_TRUE(next(bytes_field(8)));
  EXPECT_EQ(to_hex(field.bytes), "007f8001ffffffffffffffffff01");
  EXPECT_FALSE(reader.next(field));
  EXPECT_FALSE(reader.failed());
}

// A move for each range of sizes.
TEST(ProtobufWriter, TextsOfAnySizeAreCopied) {
  for (size_t size = 0; size < 70; ++size) {
    std::string text;
    for (size_t i = 0; i < size; ++i) text.push_back(static_cast<char>('A' + i));
    std::array<char, 128> memory;
    memory.fill('#');
    WireWriter writer(memory.data());
    writer.raw(text);
    EXPECT_EQ(std::string(memory.data(), size + 1), text + "#") << size;
  }
}

TEST(ProtobufWriter, ALengthThatIsNotKnownIsFilledIn) {
  for (size_t size : {size_t{0}, size_t{127}, size_t{128}, size_t{16'383}}) {
    std::string memory(size + 16, '\0');
    WireWriter writer(memory.data());
    char* began = writer.begin(3);
    writer.raw(std::string(size, 'x'));
    writer.end(began);
    WireReader reader({memory.data(), static_cast<size_t>(writer.at() - memory.data())});
    WireField field;
    ASSERT_TRUE(reader.next(field)) << size;
    EXPECT_EQ(field.tag, bytes_field(3));
    EXPECT_EQ(field.bytes, std::string(size, 'x'));
    EXPECT_TRUE(reader.rest().empty());
  }
}

TEST(ProtobufWriter, KnowsTheSizeOfAVarint) {
  for (uint64_t value : {uint64_t{0}, uint64_t{127}, uint64_t{128}, uint64_t{16'383}, uint64_t{16'384}, UINT64_MAX}) {
    std::string bytes;
    WireAppender(bytes).varint(value);
    EXPECT_EQ(varint_bytes(value), bytes.size()) << value;
  }
}

}  // namespace
}  // namespace fathom

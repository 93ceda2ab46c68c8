#include "base/protobuf_wire.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace fathom {
namespace {

using namespace std::string_view_literals;

std::vector<uint32_t> tags_of(std::string_view message, bool& failed) {
  std::vector<uint32_t> tags;
  WireReader reader(message);
  for (WireField field; reader.next(field);) tags.push_back(field.tag);
  failed = reader.failed();
  return tags;
}

bool is_malformed(std::string_view message) {
  bool failed = false;
  tags_of(message, failed);
  return failed;
}

TEST(Wire, ReadsEveryWireType) {
  WireReader reader("\x08\x96\x01\x11\x01\x00\x00\x00\x00\x00\x00\x80\x1a\x02hi\x25\x01\x02\x03\x04"sv);
  WireField field;
  ASSERT_TRUE(reader.next(field));
  EXPECT_EQ(field.tag, varint_field(1));
  EXPECT_EQ(field.bits, 150u);
  ASSERT_TRUE(reader.next(field));
  EXPECT_EQ(field.tag, fixed64_field(2));
  EXPECT_EQ(field.bits, 0x8000000000000001u);
  ASSERT_TRUE(reader.next(field));
  EXPECT_EQ(field.tag, bytes_field(3));
  EXPECT_EQ(field.bytes, "hi");
  ASSERT_TRUE(reader.next(field));
  EXPECT_EQ(field.tag, fixed32_field(4));
  EXPECT_EQ(field.bits, 0x04030201u);
  EXPECT_FALSE(reader.next(field));
  EXPECT_FALSE(reader.failed());
}

TEST(Wire, TakesTenByteVarintsAndIgnoresBitsBeyondThe64th) {
  WireReader reader("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f"sv);
  WireField field;
  ASSERT_TRUE(reader.next(field));
  EXPECT_EQ(field.bits, UINT64_MAX);
}

TEST(Wire, TakesFiveByteTagsAndIgnoresBitsBeyondThe32nd) {
  bool failed = false;
  EXPECT_EQ(tags_of("\x88\x80\x80\x80\x70\x05"sv, failed), std::vector<uint32_t>{varint_field(1)});
  EXPECT_FALSE(failed);
  EXPECT_TRUE(is_malformed("\x88\x80\x80\x80\x80\x00\x05"sv)) << "a tag of six bytes";
}

TEST(Wire, PassesOverGroups) {
  bool failed = false;
  // Field 1 as a group that holds a varint and another group; then field 2.
  EXPECT_EQ(tags_of("\x0b\x10\x01\x1b\x1c\x0c\x10\x05"sv, failed), std::vector<uint32_t>{varint_field(2)});
  EXPECT_FALSE(failed);
}

TEST(Wire, RefusesMalformedBytes) {
  EXPECT_TRUE(is_malformed("\x08"sv)) << "no value";
  EXPECT_TRUE(is_malformed("\x0a\x05hi"sv)) << "a length beyond the end";
  EXPECT_TRUE(is_malformed("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"sv)) << "a length of 2^64";
  EXPECT_TRUE(is_malformed("\x11\x01\x02"sv)) << "a short fixed64";
  EXPECT_TRUE(is_malformed("\x00\x01"sv)) << "field number 0";
  EXPECT_TRUE(is_malformed("\x0e\x01"sv)) << "wire type 6";
  EXPECT_TRUE(is_malformed("\x0c"sv)) << "the end of a group that was not begun";
  EXPECT_TRUE(is_malformed("\x0b\x14"sv)) << "the end of another group";
  EXPECT_TRUE(is_malformed("\x0b"sv)) << "a group without an end";
  EXPECT_TRUE(is_malformed("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"sv)) << "a varint of eleven bytes";
}

TEST(Wire, LimitsHowDeepGroupsNest) {
  EXPECT_FALSE(is_malformed(std::string(100, '\x0b') + std::string(100, '\x0c')));
  EXPECT_TRUE(is_malformed(std::string(101, '\x0b') + std::string(101, '\x0c')));
}

}  // namespace
}  // namespace fathom

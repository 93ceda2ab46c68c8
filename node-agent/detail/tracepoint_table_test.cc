#include "node-agent/detail/tracepoint_table.h"

#include <gtest/gtest.h>

#include <random>

#include "node-agent/testing/scripted_detail.h"

namespace fathom::agent {
namespace {

using pool::FieldType;
using testing::table_entry;

TracepointTable decode_table(const std::string& bytes) {
  return TracepointTable::decode(bytes, bytes);
}

std::string three() {
  return table_entry(16, "cache.miss", {{FieldType::kString, "key"}, {FieldType::kUint32, "bytes"}}, "cache.cc", 12) +
         table_entry(17, "empty", {}) + table_entry(4015, "last", {{FieldType::kBytes, std::string(255, 'k')}});
}

TEST(TracepointTable, ReadsDescriptions) {
  TracepointTable table = decode_table(three() + std::string(64, '\0'));
  ASSERT_EQ(table.all().size(), 3u);
  EXPECT_EQ(table.damaged(), 0u);
  const Tracepoint* miss = table.find(16);
  ASSERT_NE(miss, nullptr);
  EXPECT_EQ(miss->name, "cache.miss");
  EXPECT_EQ(miss->file, "cache.cc");
  EXPECT_EQ(miss->line, 12u);
  ASSERT_EQ(miss->fields.size(), 2u);
  EXPECT_EQ(miss->fields[0].key, "key");
  EXPECT_EQ(miss->fields[1].type, FieldType::kUint32);
  EXPECT_EQ(table.find(4015)->fields[0].key.size(), 255u);
  for (uint32_t kind : {0u, 15u, 18u, 4016u, UINT32_MAX}) EXPECT_EQ(table.find(kind), nullptr) << kind;
}

TEST(TracepointTable, GoesOnBehindWhatIsNotThereYet) {
  std::string bytes = three();
  uint32_t none = 0;
  std::memcpy(bytes.data(), &none, sizeof none);  // all but its size, which comes last
  TracepointTable table = decode_table(bytes);
  EXPECT_EQ(table.find(16), nullptr);
  EXPECT_NE(table.find(17), nullptr);
  EXPECT_NE(table.find(4015), nullptr);
}

TEST(TracepointTable, AnEntryCountsWhenTheFirstCopyHasItsSize) {
  std::string first = three();
  uint32_t none = 0;
  std::memcpy(first.data(), &none, sizeof none);
  TracepointTable table = TracepointTable::decode(first, three());
  EXPECT_EQ(table.find(16), nullptr);
  EXPECT_NE(table.find(17), nullptr);
  first = three();
  first[20] = 'X';  // of its name, in the first copy
  EXPECT_EQ(TracepointTable::decode(first, three()).find(16)->name, "cache.miss");
}

TEST(TracepointTable, TheFirstDescriptionOfAKindStands) {
  TracepointTable table = decode_table(table_entry(20, "one", {}) + table_entry(20, "two", {}));
  EXPECT_EQ(table.find(20)->name, "one");
}

struct Lie {
  const char* what;
  size_t at;
  uint16_t value;
};
class LyingEntry : public ::testing::TestWithParam<Lie> {};

TEST_P(LyingEntry, IsPassedOver) {
  std::string bytes = table_entry(16, "name", {{FieldType::kInt8, "a"}}) + table_entry(17, "behind", {});
  std::memcpy(bytes.data() + GetParam().at, &GetParam().value, sizeof(uint16_t));
  TracepointTable table = decode_table(bytes);
  EXPECT_EQ(table.find(16), nullptr) << GetParam().what;
  EXPECT_NE(table.find(17), nullptr) << GetParam().what;
  EXPECT_EQ(table.damaged(), 1u) << GetParam().what;
}
INSTANTIATE_TEST_SUITE_P(Fields, LyingEntry,
                         ::testing::Values(Lie{"an odd size", 0, 41}, Lie{"a small size", 0, 8},
                                           Lie{"a large size", 0, 0xfff8}, Lie{"a kind of ours", 4, 15},
                                           Lie{"a kind beyond all", 4, 4016}, Lie{"a long name", 8, 0xffff},
                                           Lie{"a long file", 10, 0xffff}, Lie{"many fields", 12, 9},
                                           Lie{"more fields than there are", 12, 3}, Lie{"an unknown type", 28, 14}));

TEST(TracepointTable, AnythingIsATable) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 200; ++round) {
    std::string bytes = three() + three();
    for (uint64_t i = 0; i < 1 + random() % 30; ++i) bytes[random() % bytes.size()] = static_cast<char>(random());
    std::string second = bytes;
    second[random() % second.size()] ^= 4;
    bytes.resize(random() % 2 == 0 ? bytes.size() : random() % bytes.size());
    TracepointTable table = TracepointTable::decode(bytes, second);
    for (const Tracepoint& tracepoint : table.all()) EXPECT_NE(table.find(tracepoint.kind), nullptr);
  }
}

}  // namespace
}  // namespace fathom::agent

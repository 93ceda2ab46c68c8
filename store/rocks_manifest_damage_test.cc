// Damage to RocksDB's manifest is corrected or rejected by a start; it never costs sorted files.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "store/testing/damage.h"
#include "store/testing/rocks_rig.h"

namespace fathom::store::testing {
namespace {

namespace fs = std::filesystem;

constexpr size_t kManifestHeaderBytes = 7;

class RocksManifestDamage : public ::testing::Test {
 protected:
  // Two sealed segments; the last records of the manifest name their files.
  void SetUp() override {
    ASSERT_EQ(rig_.open(), "");
    for (uint64_t trace = 1; trace <= 2; ++trace) {
      ASSERT_EQ(append_once(rig_.store(), make_batch({test_span(trace, 1, 0, 10)})).outcome, AppendOutcome::kDurable);
      ASSERT_TRUE(rig_.store().settle().ok());
    }
    rig_.close();
  }

  std::string store() const { return rig_.path() + "/store"; }
  std::string manifest() const {
    for (const auto& entry : fs::directory_iterator(store())) {
      if (entry.path().filename().string().starts_with("MANIFEST-")) return entry.path();
    }
    return "";
  }
  // The offset of the record that is `from_end` records before the last one.
  uint64_t record(size_t from_end) const {
    const std::string bytes = read_file(manifest());
    std::vector<uint64_t> offsets;
    for (uint64_t at = 0; at + kManifestHeaderBytes <= bytes.size();) {
      offsets.push_back(at);
      at += kManifestHeaderBytes + static_cast<uint8_t>(bytes[at + 4]) + 256U * static_cast<uint8_t>(bytes[at + 5]);
    }
    return offsets.at(offsets.size() - 1 - from_end);
  }
  // The record then reaches beyond the end of the file, as the incomplete last record of a crash does.
  void lengthen_record(size_t from_end) { flip_bit(manifest(), 8 * (record(from_end) + 5) + 6); }
  std::vector<std::string> tables() const {
    std::vector<std::string> found;
    for (const auto& entry : fs::directory_iterator(store())) {
      if (entry.path().extension() == ".sst") found.push_back(entry.path());
    }
    std::ranges::sort(found);
    return found;
  }
  void expect_both_traces() {
    for (uint64_t trace = 1; trace <= 2; ++trace) EXPECT_TRUE(stored_trace(rig_.store(), trace)) << trace;
    EXPECT_EQ(rig_.store().stats().segments, 2u);
  }

  RocksRig rig_;
};

// RocksDB takes it for an incomplete end of the file, opens without the last segments and deletes their files.
TEST_F(RocksManifestDamage, CorrectsALengthWithOneWrongBit) {
  lengthen_record(3);
  ASSERT_EQ(rig_.open(), "");
  expect_both_traces();
  EXPECT_TRUE(fs::exists(rig_.path() + "/damaged"));
  ASSERT_EQ(rig_.reopen(), "");
  expect_both_traces();
}

TEST_F(RocksManifestDamage, RejectsAWrongRecordAndKeepsTheFiles) {
  flip_bit(manifest(), 8 * (record(3) + kManifestHeaderBytes + 1));
  const std::vector<std::string> before = tables();
  const std::string error = rig_.open();
  EXPECT_NE(error.find("fathom store repair " + rig_.path()), std::string::npos) << error;
  EXPECT_EQ(tables(), before);
}

TEST_F(RocksManifestDamage, RejectsALengthWithTwoWrongBits) {
  const uint64_t at = record(3);
  flip_bit(manifest(), 8 * (at + 5) + 6);
  flip_bit(manifest(), 8 * (at + 5) + 5);
  const std::vector<std::string> before = tables();
  EXPECT_NE(rig_.open(), "");
  EXPECT_EQ(tables(), before);
}

// RocksDB would make a new store here, and delete the files.
TEST_F(RocksManifestDamage, RejectsAStoreWithoutCurrent) {
  fs::remove(store() + "/CURRENT");
  const std::vector<std::string> before = tables();
  const std::string error = rig_.open();
  EXPECT_NE(error.find("its file CURRENT is missing"), std::string::npos) << error;
  EXPECT_EQ(tables(), before);
}

TEST_F(RocksManifestDamage, RejectsACurrentThatNamesAMissingManifest) {
  flip_bit(store() + "/CURRENT", 8 * 14);
  const std::vector<std::string> before = tables();
  EXPECT_NE(rig_.open(), "");
  EXPECT_EQ(tables(), before);
}

// The power failed during the write.
TEST_F(RocksManifestDamage, AcceptsAnIncompleteLastRecord) {
  const std::string bytes = read_file(manifest());
  write_file(manifest(), bytes + std::string("\1\2\3\4\x20\0\1abc", 10));
  ASSERT_EQ(rig_.open(), "");
  expect_both_traces();
}

}  // namespace
}  // namespace fathom::store::testing

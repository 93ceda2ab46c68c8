// Damage to RocksDB's manifest is corrected or rejected by a start; it never costs sorted files.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <initializer_list>

#include "store/testing/damage.h"
#include "store/testing/rocks_rig.h"

namespace fathom::store::testing {
namespace {

namespace fs = std::filesystem;

constexpr size_t kManifestHeaderBytes = 7;

class RocksManifestDamage : public ::testing::Test {
 public:
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
  std::string manifest() const { return manifest_of(store()); }
  static std::string manifest_of(const std::string& store) {
    for (const auto& entry : fs::directory_iterator(store)) {
      if (entry.path().filename().string().starts_with("MANIFEST-")) return entry.path();
    }
    return "";
  }
  // The offset of the record that is `from_end` records before the last one.
  uint64_t record(size_t from_end) const { return record_of(store(), from_end); }
  static uint64_t record_of(const std::string& store, size_t from_end) {
    const std::string bytes = read_file(manifest_of(store));
    std::vector<uint64_t> offsets;
    for (uint64_t at = 0; at + kManifestHeaderBytes <= bytes.size();) {
      offsets.push_back(at);
      at += kManifestHeaderBytes + static_cast<uint8_t>(bytes[at + 4]) + 256U * static_cast<uint8_t>(bytes[at + 5]);
    }
    return offsets.at(offsets.size() - 1 - from_end);
  }
  // The record then reaches beyond the end of the file, as the incomplete last record of a crash does.
  void lengthen_record(size_t from_end) const { flip_bit(manifest(), 8 * (record(from_end) + 5) + 6); }
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

TEST_F(RocksManifestDamage, AMissingTableIsDamageWithAnAdvice) {
  for (const std::string& table : tables()) {
    SCOPED_TRACE(table);
    fs::rename(table, table + ".gone");
    const auto opened = RocksStore::open(rig_.options());
    ASSERT_FALSE(opened.ok());
    EXPECT_EQ(opened.error().code, ErrorCode::kCorrupt);
    EXPECT_NE(opened.error().message.find("fathom store repair " + rig_.path()), std::string::npos)
        << opened.error().message;
    fs::rename(table + ".gone", table);
  }
  ASSERT_EQ(rig_.open(), "");
  expect_both_traces();
}

TEST_F(RocksManifestDamage, CorrectsALengthWithOneWrongBit) {
  lengthen_record(3);
  ASSERT_EQ(rig_.open(), "");
  expect_both_traces();
  EXPECT_TRUE(fs::exists(rig_.path() + "/damaged"));
  ASSERT_EQ(rig_.reopen(), "");
  expect_both_traces();
}

// Where the records behind the damage only add files, RocksDB opens without the last segment and deletes its files.
class RocksManifestLength : public ::testing::Test {
 protected:
  static constexpr size_t kRecords = 12;

  void SetUp() override {
    ASSERT_EQ(sealed_.open(), "");
    for (uint64_t trace = 1; trace <= 2; ++trace) {
      ASSERT_EQ(append_once(sealed_.store(), make_batch({test_span(trace, 1, 0, 10)})).outcome,
                AppendOutcome::kDurable);
      ASSERT_TRUE(eventually([&] { return sealed_.store().stats().segments == trace; }));
    }
    sealed_.close();
  }
  static RocksOptions one_span_per_segment() {
    RocksOptions options;
    options.segment_spans = 1;
    return options;
  }
  // Opens a copy in which bits of the length of a record are flipped; the error.
  std::string open_damaged(RocksRig& copy, size_t from_end, std::initializer_list<uint64_t> bits) const {
    fs::copy(sealed_.path(), copy.path(), fs::copy_options::recursive);
    const std::string store = copy.path() + "/store";
    const uint64_t at = RocksManifestDamage::record_of(store, from_end);
    for (const uint64_t bit : bits) flip_bit(RocksManifestDamage::manifest_of(store), 8 * (at + 5) + bit);
    return copy.open();
  }

  RocksRig sealed_{one_span_per_segment()};
};

TEST_F(RocksManifestLength, HidesNoSegment) {
  for (size_t from_end = 0; from_end < kRecords; ++from_end) {
    SCOPED_TRACE("record " + std::to_string(from_end) + " before the last one");
    RocksRig copy(one_span_per_segment());
    ASSERT_EQ(open_damaged(copy, from_end, {6}), "");
    for (uint64_t trace = 1; trace <= 2; ++trace) EXPECT_TRUE(stored_trace(copy.store(), trace)) << trace;
  }
}

TEST_F(RocksManifestLength, WithTwoWrongBitsIsRejected) {
  for (size_t from_end = 0; from_end < kRecords; ++from_end) {
    RocksRig copy(one_span_per_segment());
    EXPECT_NE(open_damaged(copy, from_end, {5, 6}), "") << from_end;
  }
}

TEST_F(RocksManifestDamage, RejectsAWrongRecordAndKeepsTheFiles) {
  flip_bit(manifest(), 8 * (record(3) + kManifestHeaderBytes + 1));
  const std::vector<std::string> before = tables();
  const std::string error = rig_.open();
  EXPECT_NE(error.find("fathom store repair " + rig_.path()), std::string::npos) << error;
  EXPECT_EQ(tables(), before);
}

// RocksDB would make a new store here.
TEST_F(RocksManifestDamage, RejectsAStoreWithoutCurrent) {
  fs::remove(store() + "/CURRENT");
  for (const auto& entry : fs::directory_iterator(store())) {
    if (entry.path().extension() == ".log") fs::remove(entry.path());
  }
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

// The disk reported the last write as synced and lost it.
TEST_F(RocksManifestDamage, RejectsALostLastRecord) {
  const std::string bytes = read_file(manifest());
  const size_t last = record(0);
  for (const std::string& end : {std::string(), std::string(bytes.size() - last, '\0'), bytes.substr(last, 9)}) {
    write_file(manifest(), bytes.substr(0, last) + end);
    const std::vector<std::string> before = tables();
    EXPECT_NE(rig_.open(), "") << end.size();
    EXPECT_EQ(tables(), before);
  }
  write_file(manifest(), bytes);
  ASSERT_EQ(rig_.open(), "");
  expect_both_traces();
}

// The power failed during the write, and the disk reordered it.
class RocksManifestEnd : public RocksManifestDamage {
 protected:
  void open_with(const std::string& end) {
    write_file(manifest(), read_file(manifest()) + end);
    ASSERT_EQ(rig_.open(), "");
    expect_both_traces();
    ASSERT_EQ(rig_.reopen(), "");
    expect_both_traces();
  }
  const std::string incomplete_ = std::string("\1\2\3\4\x20\0\1abc", 10);
};

TEST_F(RocksManifestEnd, MayBeIncomplete) {
  open_with(incomplete_);
}

TEST_F(RocksManifestEnd, MayBeIncompleteWhereItsSizeIsNotKnown) {
  fs::remove(store() + "/manifest-size");
  open_with(incomplete_);
}

TEST_F(RocksManifestEnd, MayBeZeros) {
  open_with(std::string(512, '\0'));
}

TEST_F(RocksManifestEnd, MayHaveAHoleBeforeAnIntactRecord) {
  const std::string bytes = read_file(manifest());
  open_with(std::string(512, '\0') + bytes.substr(record(0)));
}

// An older server wrote it, or it is damaged.
TEST_F(RocksManifestEnd, IsDamagedWhereItsSizeIsNotKnown) {
  flip_bit(store() + "/manifest-size", 100);
  write_file(manifest(), read_file(manifest()) + std::string(512, '\0'));
  EXPECT_NE(rig_.open(), "");
}

// The disk has damaged both. An incomplete end may then be anything.
TEST_F(RocksManifestDamage, RejectsAnIncompleteEndWhoseSizeIsDamaged) {
  for (const std::string& size : {std::string(), std::string(80, '\0'), std::string("MANIFEST-000005 1\n")}) {
    write_file(store() + "/manifest-size", size);
    const std::string bytes = read_file(manifest());
    write_file(manifest(), bytes.substr(0, bytes.size() - 10));
    const auto opened = RocksStore::open(rig_.options());
    ASSERT_FALSE(opened.ok());
    EXPECT_EQ(opened.error().code, ErrorCode::kCorrupt);
    EXPECT_NE(opened.error().message.find("fathom store repair " + rig_.path()), std::string::npos);
    write_file(manifest(), bytes);
  }
  ASSERT_EQ(rig_.open(), "") << "a damaged size alone costs nothing";
  expect_both_traces();
}

}  // namespace
}  // namespace fathom::store::testing

// A damaged manifest: RocksDB reads a record that seems to end behind the file as the end of the manifest.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/testing/temp_directory.h"
#include "store/testing/rocks_rig.h"

namespace fathom::store::testing {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kTraces = 6;
constexpr size_t kHeaderBytes = 7;  // checksum:u32, length:u16, type:u8

class RocksManifestDamage : public ::testing::Test {
 protected:
  // Each trace is sealed, so the manifest has a record for it, and no log has its batch any more.
  void SetUp() override {
    ASSERT_EQ(rig_.open(), "");
    for (uint64_t trace = 1; trace <= kTraces; ++trace) {
      const AppendResult appended = append_once(rig_.store(), make_batch({test_span(trace, 1, 0, 10)}));
      ASSERT_EQ(appended.outcome, AppendOutcome::kDurable);
      ASSERT_TRUE(rig_.store().settle().ok());
    }
    rig_.close();
  }

  // A copy of the data directory, on the real file system.
  class Copy {
   public:
    explicit Copy(const RocksRig& rig) { fs::copy(rig.path(), path(), fs::copy_options::recursive); }
    std::string path() const { return directory_ / "data"; }
    // Empty when the store is open, otherwise why it is not.
    std::string open(RocksOptions options) {
      options.path = path();
      options.env = nullptr;
      Result<std::unique_ptr<RocksStore>> opened = RocksStore::open(std::move(options));
      if (opened) store_ = std::move(*opened);
      return opened ? "" : opened.error().message;
    }
    RocksStore& store() { return *store_; }

   private:
    TempDirectory directory_;
    std::unique_ptr<RocksStore> store_;
  };

  static std::string manifest(const std::string& path) {
    std::string name;
    std::ifstream(path + "/store/CURRENT") >> name;
    return path + "/store/" + name;
  }
  static std::string contents(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  static void set_contents(const std::string& path, const std::string& bytes) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
  }
  // Where the manifest's records start, the newest first. The manifest of this test is smaller than a block.
  std::vector<size_t> records() const {
    const std::string bytes = contents(manifest(rig_.path()));
    std::vector<size_t> starts;
    for (size_t at = 0; at + kHeaderBytes <= bytes.size();) {
      starts.push_back(at);
      at += kHeaderBytes + static_cast<unsigned char>(bytes[at + 4]) + 256U * static_cast<unsigned char>(bytes[at + 5]);
    }
    std::reverse(starts.begin(), starts.end());
    return starts;
  }
  // The length of the record becomes larger than the rest of the file.
  static void lengthen(const std::string& path, size_t record, char changed_bits) {
    std::string bytes = contents(manifest(path));
    bytes[record + 5] = static_cast<char>(bytes[record + 5] ^ changed_bits);
    set_contents(manifest(path), bytes);
  }

  RocksRig rig_;
};

TEST_F(RocksManifestDamage, AFlippedBitInALengthLosesNothing) {
  const std::vector<size_t> starts = records();
  ASSERT_GE(starts.size(), kTraces);
  for (size_t i = 0; i < starts.size(); i += starts.size() / 6) {
    SCOPED_TRACE(starts[i]);
    Copy copy(rig_);
    lengthen(copy.path(), starts[i], 0x40);
    ASSERT_EQ(copy.open(rig_.options()), "");
    EXPECT_EQ(counted_spans(copy.store()), kTraces);
    for (uint64_t trace = 1; trace <= kTraces; ++trace) EXPECT_TRUE(stored_trace(copy.store(), trace)) << trace;
  }
}

TEST_F(RocksManifestDamage, TwoFlippedBitsInALengthAreReported) {
  Copy copy(rig_);
  lengthen(copy.path(), records().at(3), 0x60);
  EXPECT_NE(copy.open(rig_.options()).find("the manifest"), std::string::npos);
}

// A power cut can leave zeros where an unsynced change was going to be.
TEST_F(RocksManifestDamage, ZerosAtTheEndDoNotPreventAStart) {
  Copy copy(rig_);
  std::ofstream(manifest(copy.path()), std::ios::binary | std::ios::app) << std::string(100, '\0');
  ASSERT_EQ(copy.open(rig_.options()), "");
  EXPECT_EQ(counted_spans(copy.store()), kTraces);
}

}  // namespace
}  // namespace fathom::store::testing

// The manifest that CURRENT names is not deleted, its size is not forgotten, and what it may name is kept.
#include "store/rocks/manifest_guard.h"

#include <filesystem>
#include <fstream>
#include <memory>

#include <gtest/gtest.h>

#include "base/testing/temp_directory.h"
#include "store/testing/fault_file_system.h"

namespace fathom::store {
namespace {

TEST(ManifestGuard, KeepsTheManifestThatCurrentNames) {
  TempDirectory directory;
  std::ofstream(directory / "CURRENT") << "MANIFEST-000007\n";
  ManifestGuard guard(rocksdb::FileSystem::Default());
  for (const char* name : {"MANIFEST-000007", "MANIFEST-000005", "000007.log"}) {
    std::ofstream(directory / name) << "content";
    EXPECT_TRUE(guard.DeleteFile(directory / name, rocksdb::IOOptions(), nullptr).ok()) << name;
  }
  EXPECT_TRUE(std::filesystem::exists(directory / "MANIFEST-000007"));
  EXPECT_FALSE(std::filesystem::exists(directory / "MANIFEST-000005"));
  EXPECT_FALSE(std::filesystem::exists(directory / "000007.log"));
}

// Each time the disk is full while RocksDB starts a manifest, it leaves one that CURRENT does not name.
TEST(ManifestGuard, RemembersTheSizeOfTheManifestThatCurrentNames) {
  TempDirectory directory;
  ManifestGuard guard(rocksdb::FileSystem::Default());
  for (const char* name : {"MANIFEST-000004", "MANIFEST-000006", "MANIFEST-000008", "MANIFEST-000010"}) {
    std::unique_ptr<rocksdb::FSWritableFile> file;
    ASSERT_TRUE(guard.NewWritableFile(directory / name, rocksdb::FileOptions(), &file, nullptr).ok());
    ASSERT_TRUE(file->Append("record", rocksdb::IOOptions(), nullptr).ok());
    ASSERT_TRUE(file->Sync(rocksdb::IOOptions(), nullptr).ok());
    if (std::string_view(name) == "MANIFEST-000006") std::ofstream(directory / "CURRENT") << name << "\n";
  }
  const ManifestSizes sizes = ManifestSizes::read(*rocksdb::Env::Default(), directory.path());
  EXPECT_EQ(sizes.synced_bytes("MANIFEST-000004"), std::nullopt);
  EXPECT_EQ(sizes.synced_bytes("MANIFEST-000006"), 6u);
  EXPECT_EQ(sizes.synced_bytes("MANIFEST-000008"), std::nullopt);
  EXPECT_EQ(sizes.synced_bytes("MANIFEST-000010"), 6u);
}

class DeferredDeletionsTest : public ::testing::Test {
 protected:
  DeferredDeletionsTest() {
    EXPECT_TRUE(guard_.NewDirectory(directory_.path(), {}, &names_, nullptr).ok());
    manifest_ = create("MANIFEST-000004");
    write("CURRENT", "MANIFEST-000004\n");
    write("000154.sst", "rows");
  }

  std::unique_ptr<rocksdb::FSWritableFile> create(const std::string& name) {
    std::unique_ptr<rocksdb::FSWritableFile> file;
    EXPECT_TRUE(guard_.NewWritableFile(directory_ / name, rocksdb::FileOptions(), &file, nullptr).ok());
    return file;
  }
  void write(const std::string& name, const std::string& content) { std::ofstream(directory_ / name) << content; }
  static bool append(rocksdb::FSWritableFile& file) { return file.Append("record", {}, nullptr).ok(); }
  static bool sync(rocksdb::FSWritableFile& file) { return file.Sync({}, nullptr).ok(); }
  bool sync_names() { return names_->Fsync({}, nullptr).ok(); }
  void remove(const std::string& name) { EXPECT_TRUE(guard_.DeleteFile(directory_ / name, {}, nullptr).ok()); }
  bool exists(const std::string& name) const { return std::filesystem::exists(directory_ / name); }
  bool make_current(const std::string& manifest) {
    write("000008.dbtmp", manifest + "\n");
    return guard_.RenameFile(directory_ / "000008.dbtmp", directory_ / "CURRENT", {}, nullptr).ok();
  }
  // The record is in the manifest, and RocksDB does not know that.
  void fail_to_write_the_size() {
    EXPECT_TRUE(append(*manifest_));
    disk_->set_free_bytes(0);
    EXPECT_FALSE(sync(*manifest_));
    disk_->release_space();
  }

  TempDirectory directory_;
  std::shared_ptr<FaultFileSystem> disk_ = std::make_shared<FaultFileSystem>();
  ManifestGuard guard_{disk_};
  std::unique_ptr<rocksdb::FSDirectory> names_;
  std::unique_ptr<rocksdb::FSWritableFile> manifest_;
};

TEST_F(DeferredDeletionsTest, NoneWithoutAFailure) {
  EXPECT_TRUE(append(*manifest_) && sync(*manifest_));
  remove("000154.sst");
  EXPECT_FALSE(exists("000154.sst"));
}

TEST_F(DeferredDeletionsTest, EndWhenANewManifestIsDurable) {
  fail_to_write_the_size();
  remove("000154.sst");
  EXPECT_TRUE(exists("000154.sst"));
  const auto next = create("MANIFEST-000008");
  EXPECT_TRUE(append(*next) && sync(*next) && make_current("MANIFEST-000008"));
  EXPECT_TRUE(exists("000154.sst")) << "a power cut may undo the rename";
  EXPECT_TRUE(sync_names());
  EXPECT_FALSE(exists("000154.sst"));
  write("000155.sst", "rows");
  remove("000155.sst");
  EXPECT_FALSE(exists("000155.sst"));
}

TEST_F(DeferredDeletionsTest, BeginWithAFailedAppend) {
  disk_->set_free_bytes(2);
  EXPECT_FALSE(append(*manifest_));
  disk_->release_space();
  remove("000154.sst");
  EXPECT_TRUE(exists("000154.sst"));
}

TEST_F(DeferredDeletionsTest, BeginIfTheNewNameIsNotDurable) {
  const auto next = create("MANIFEST-000008");
  EXPECT_TRUE(append(*next) && sync(*next) && make_current("MANIFEST-000008"));
  disk_->fail_syncs(true);
  EXPECT_FALSE(sync_names());
  disk_->fail_syncs(false);
  remove("000154.sst");
  EXPECT_TRUE(exists("000154.sst"));
}

// RocksDB goes on with the same manifest, so no write of that has failed.
TEST_F(DeferredDeletionsTest, EndWithALaterRecordOfTheSameManifest) {
  disk_->fail_syncs(true);
  EXPECT_FALSE(sync_names());
  disk_->fail_syncs(false);
  remove("000154.sst");
  EXPECT_TRUE(exists("000154.sst"));
  EXPECT_TRUE(append(*manifest_) && sync(*manifest_));
  EXPECT_FALSE(exists("000154.sst"));
}

TEST_F(DeferredDeletionsTest, AreOfSortedFilesOfTheStoreOnly) {
  fail_to_write_the_size();
  std::filesystem::create_directory(directory_ / "ingest");
  for (const char* name : {"000005.log", "ingest/3-5.sst"}) {
    write(name, "content");
    remove(name);
    EXPECT_FALSE(exists(name)) << name;
  }
}

TEST_F(DeferredDeletionsTest, DoNotBeginInAnotherDirectory) {
  std::unique_ptr<rocksdb::FSDirectory> other;
  std::filesystem::create_directory(directory_ / "ingest");
  EXPECT_TRUE(guard_.NewDirectory(directory_ / "ingest", {}, &other, nullptr).ok());
  disk_->fail_syncs(true);
  EXPECT_FALSE(other->Fsync({}, nullptr).ok());
  disk_->fail_syncs(false);
  remove("000154.sst");
  EXPECT_FALSE(exists("000154.sst"));
}

}  // namespace
}  // namespace fathom::store

// The manifest that CURRENT names is not deleted, and its size is not forgotten.
#include "store/rocks/manifest_guard.h"

#include <filesystem>
#include <fstream>
#include <memory>

#include <gtest/gtest.h>

#include "base/testing/temp_directory.h"

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

}  // namespace
}  // namespace fathom::store

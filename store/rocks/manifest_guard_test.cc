// A deletion of the manifest that CURRENT names does nothing; other files are deleted.
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

}  // namespace
}  // namespace fathom::store

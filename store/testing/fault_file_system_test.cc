#include "store/testing/fault_file_system.h"

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "base/testing/temp_directory.h"

namespace fathom::store {
namespace {

using rocksdb::FileOptions;
using rocksdb::IOOptions;
using rocksdb::IOStatus;

// The file system alone, on a directory of its own.
class FaultFileSystemTest : public ::testing::Test {
 protected:
  FaultFileSystemTest() : directory_(temp_ / "disk") { std::filesystem::create_directory(directory_); }

  std::string path(const std::string& name) const { return directory_ + "/" + name; }

  std::unique_ptr<rocksdb::FSWritableFile> create(const std::string& name) {
    std::unique_ptr<rocksdb::FSWritableFile> file;
    EXPECT_TRUE(fs_.NewWritableFile(path(name), FileOptions(), &file, nullptr).ok());
    return file;
  }
  IOStatus append(rocksdb::FSWritableFile& file, const std::string& text) {
    return file.Append(text, IOOptions(), nullptr);
  }
  IOStatus append_at(rocksdb::FSWritableFile& file, uint64_t offset, const std::string& text) {
    return file.PositionedAppend(text, offset, IOOptions(), nullptr);
  }
  IOStatus sync(rocksdb::FSWritableFile& file) { return file.Sync(IOOptions(), nullptr); }
  // A file that is open, with a durable name and durable bytes that nobody appended, as a log that was filled ahead.
  std::unique_ptr<rocksdb::FSWritableFile> filled(const std::string& name, const std::string& filler) {
    auto file = create(name);
    sync_directory();
    EXPECT_TRUE(append_at(*file, 0, filler).ok());
    EXPECT_TRUE(sync(*file).ok());
    return file;
  }
  void write(const std::string& name, const std::string& text) {
    auto file = create(name);
    EXPECT_TRUE(append(*file, text).ok());
    EXPECT_TRUE(sync(*file).ok());
    EXPECT_TRUE(file->Close(IOOptions(), nullptr).ok());
  }
  void sync_directory() {
    std::unique_ptr<rocksdb::FSDirectory> directory;
    ASSERT_TRUE(fs_.NewDirectory(directory_, IOOptions(), &directory, nullptr).ok());
    ASSERT_TRUE(directory->Fsync(IOOptions(), nullptr).ok());
  }
  void cut_power(std::optional<uint64_t> torn_seed = std::nullopt) {
    fs_.crash();
    fs_.restart(torn_seed);
  }
  // What the directory holds, as "name=content name=content".
  std::string contents() const {
    std::map<std::string, std::string> files;
    for (const auto& entry : std::filesystem::directory_iterator(directory_)) {
      std::stringstream text;
      text << std::ifstream(entry.path()).rdbuf();
      files[entry.path().filename()] = text.str();
    }
    std::string out;
    for (const auto& [name, text] : files) out += (out.empty() ? "" : " ") + name + "=" + text;
    return out;
  }

  TempDirectory temp_;
  std::string directory_;
  FaultFileSystem fs_;
};

TEST_F(FaultFileSystemTest, BytesThatWereNotSyncedAreLost) {
  auto file = create("a");
  ASSERT_TRUE(append(*file, "kept").ok());
  ASSERT_TRUE(sync(*file).ok());
  ASSERT_TRUE(append(*file, "lost").ok());
  sync_directory();
  EXPECT_EQ(contents(), "a=keptlost");
  EXPECT_EQ(fs_.unsynced_bytes(), 4u);
  cut_power();
  EXPECT_EQ(contents(), "a=kept");
}

TEST_F(FaultFileSystemTest, ClosingMakesNothingDurable) {
  auto file = create("a");
  ASSERT_TRUE(append(*file, "lost").ok());
  sync_directory();
  ASSERT_TRUE(file->Close(IOOptions(), nullptr).ok());
  file.reset();
  cut_power();
  EXPECT_EQ(contents(), "a=");
}

TEST_F(FaultFileSystemTest, ANameIsLostUntilItsDirectoryIsSynced) {
  write("a", "1");
  sync_directory();
  write("b", "2");
  EXPECT_EQ(contents(), "a=1 b=2");
  cut_power();
  EXPECT_EQ(contents(), "a=1");
}

TEST_F(FaultFileSystemTest, ARenameIsTakenBackUntilTheDirectoryIsSynced) {
  write("current", "old");
  write("next", "new");
  sync_directory();
  ASSERT_TRUE(fs_.RenameFile(path("next"), path("current"), IOOptions(), nullptr).ok());
  EXPECT_EQ(contents(), "current=new");
  cut_power();
  EXPECT_EQ(contents(), "current=old next=new");
  ASSERT_TRUE(fs_.RenameFile(path("next"), path("current"), IOOptions(), nullptr).ok());
  sync_directory();
  cut_power();
  EXPECT_EQ(contents(), "current=new");
}

TEST_F(FaultFileSystemTest, ARenamedFileKeepsItsOwnUnsyncedTail) {
  write("current", "old");
  auto file = create("next");
  ASSERT_TRUE(append(*file, "new").ok());
  ASSERT_TRUE(fs_.RenameFile(path("next"), path("current"), IOOptions(), nullptr).ok());
  sync_directory();
  cut_power();
  EXPECT_EQ(contents(), "current=") << "the classic: renamed before it was synced";
}

TEST_F(FaultFileSystemTest, ARemovedFileReturnsUntilTheDirectoryIsSynced) {
  write("a", "1");
  sync_directory();
  ASSERT_TRUE(fs_.DeleteFile(path("a"), IOOptions(), nullptr).ok());
  EXPECT_EQ(contents(), "");
  cut_power();
  EXPECT_EQ(contents(), "a=1");
  ASSERT_TRUE(fs_.DeleteFile(path("a"), IOOptions(), nullptr).ok());
  sync_directory();
  cut_power();
  EXPECT_EQ(contents(), "");
  EXPECT_FALSE(fs_.DeleteFile(path("a"), IOOptions(), nullptr).ok());
}

TEST_F(FaultFileSystemTest, ReopeningKeepsWhatWasThere) {
  write("a", "old");
  sync_directory();
  std::unique_ptr<rocksdb::FSWritableFile> file;
  ASSERT_TRUE(fs_.ReopenWritableFile(path("a"), FileOptions(), &file, nullptr).ok());
  ASSERT_TRUE(append(*file, "new").ok());
  EXPECT_EQ(contents(), "a=oldnew");
  cut_power();
  EXPECT_EQ(contents(), "a=old");
}

TEST_F(FaultFileSystemTest, AfterASyncThatFailedNoneProvesAnything) {
  auto file = create("a");
  sync_directory();
  ASSERT_TRUE(append(*file, "kept").ok());
  ASSERT_TRUE(sync(*file).ok());
  ASSERT_TRUE(append(*file, "lost").ok());
  fs_.fail_syncs(true);
  EXPECT_FALSE(sync(*file).ok());
  fs_.fail_syncs(false);
  EXPECT_TRUE(sync(*file).ok());
  cut_power();
  EXPECT_EQ(contents(), "a=kept");
}

TEST_F(FaultFileSystemTest, TornWritesKeepAPartOfTheTail) {
  std::set<std::string> seen;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    auto file = create("a");
    sync_directory();
    ASSERT_TRUE(append(*file, "kept").ok());
    ASSERT_TRUE(sync(*file).ok());
    ASSERT_TRUE(append(*file, "lost").ok());
    file.reset();
    cut_power(seed);
    std::string left = contents();
    ASSERT_TRUE(std::string("a=keptlost").starts_with(left) && left.size() >= 6) << left;
    seen.insert(left);
  }
  EXPECT_GT(seen.size(), 2u);
}

TEST_F(FaultFileSystemTest, WithoutPowerNothingChanges) {
  write("a", "1");
  auto file = create("b");
  sync_directory();
  fs_.crash();
  EXPECT_FALSE(append(*file, "2").ok());
  EXPECT_FALSE(sync(*file).ok());
  EXPECT_FALSE(fs_.DeleteFile(path("a"), IOOptions(), nullptr).ok());
  EXPECT_FALSE(fs_.RenameFile(path("a"), path("c"), IOOptions(), nullptr).ok());
  std::unique_ptr<rocksdb::FSWritableFile> other;
  EXPECT_FALSE(fs_.NewWritableFile(path("c"), FileOptions(), &other, nullptr).ok());
  fs_.restart();
  EXPECT_FALSE(append(*file, "2").ok()) << "a handle from before the cut";
  EXPECT_EQ(contents(), "a=1 b=");
}

TEST_F(FaultFileSystemTest, AFullDiskTakesWhatFitsAndNoMore) {
  auto file = create("a");
  fs_.set_free_bytes(6);
  EXPECT_TRUE(append(*file, "1234").ok());
  IOStatus status = append(*file, "5678");
  EXPECT_TRUE(status.IsNoSpace()) << status.ToString();
  EXPECT_EQ(contents(), "a=123456");
  uint64_t free = 1;
  EXPECT_TRUE(fs_.GetFreeSpace(directory_, IOOptions(), &free, nullptr).ok());
  EXPECT_EQ(free, 0u);
  fs_.release_space();
  EXPECT_TRUE(append(*file, "78").ok());
}

TEST_F(FaultFileSystemTest, AFailingDiskFailsEveryChange) {
  auto file = create("a");
  fs_.fail_writes(true);
  EXPECT_TRUE(append(*file, "1").IsIOError());
  EXPECT_TRUE(fs_.RenameFile(path("a"), path("b"), IOOptions(), nullptr).IsIOError());
  fs_.fail_writes(false);
  EXPECT_TRUE(append(*file, "1").ok());
}

TEST_F(FaultFileSystemTest, AFailingDiskFailsReadsOfFilesThatAreOpen) {
  write("a", "123");
  std::unique_ptr<rocksdb::FSRandomAccessFile> file;
  ASSERT_TRUE(fs_.NewRandomAccessFile(path("a"), FileOptions(), &file, nullptr).ok());
  char scratch[2];
  rocksdb::Slice read;
  rocksdb::FSReadRequest request{.offset = 1, .len = 2, .scratch = scratch, .result = {}, .status = {}};
  fs_.fail_reads(true);
  EXPECT_TRUE(file->Read(1, 2, IOOptions(), &read, scratch, nullptr).IsIOError());
  EXPECT_TRUE(file->MultiRead(&request, 1, IOOptions(), nullptr).IsIOError());
  fs_.fail_reads(false);
  EXPECT_TRUE(file->Read(1, 2, IOOptions(), &read, scratch, nullptr).ok());
  EXPECT_EQ(read.ToString(), "23");
  EXPECT_TRUE(file->MultiRead(&request, 1, IOOptions(), nullptr).ok());
  EXPECT_EQ(request.result.ToString(), "23");
}

TEST_F(FaultFileSystemTest, CountsSyncs) {
  write("a", "1");
  sync_directory();
  sync_directory();
  EXPECT_EQ(fs_.file_syncs(), 1u);
  EXPECT_EQ(fs_.directory_syncs(), 2u);
}

TEST_F(FaultFileSystemTest, AppendsFollowEachOtherNotTheEnd) {
  auto file = filled("a", "------");
  ASSERT_TRUE(append(*file, "ab").ok());
  ASSERT_TRUE(append(*file, "cd").ok());
  EXPECT_EQ(contents(), "a=abcd--");
  EXPECT_EQ(fs_.unsynced_bytes(), 4u);
  ASSERT_TRUE(append(*file, "efgh").ok());
  EXPECT_EQ(contents(), "a=abcdefgh");
  EXPECT_EQ(fs_.unsynced_bytes(), 8u);
  ASSERT_TRUE(append_at(*file, 7, "x").ok());
  EXPECT_EQ(fs_.unsynced_bytes(), 8u) << "it was unsynced before";
  cut_power();
  EXPECT_EQ(contents(), "a=------");
}

TEST_F(FaultFileSystemTest, AReopenedFileTakesEveryWriteAtItsEnd) {
  filled("a", "------").reset();
  std::unique_ptr<rocksdb::FSWritableFile> file;
  ASSERT_TRUE(fs_.ReopenWritableFile(path("a"), FileOptions(), &file, nullptr).ok());
  ASSERT_TRUE(append_at(*file, 1, "ab").ok());
  ASSERT_TRUE(file->Truncate(4, IOOptions(), nullptr).ok());
  ASSERT_TRUE(append(*file, "cd").ok());
  EXPECT_EQ(contents(), "a=----cd");
  EXPECT_EQ(fs_.unsynced_bytes(), 4u) << "with the end that was cut off";
  cut_power();
  EXPECT_EQ(contents(), "a=------");
}

TEST_F(FaultFileSystemTest, AnOverwriteIsTakenBackUntilItIsSynced) {
  auto file = filled("a", "------");
  ASSERT_TRUE(append_at(*file, 1, "abc").ok());
  ASSERT_TRUE(sync(*file).ok());
  EXPECT_EQ(fs_.unsynced_bytes(), 0u);
  ASSERT_TRUE(append_at(*file, 3, "de").ok());
  ASSERT_TRUE(append_at(*file, 2, "xyz").ok());
  ASSERT_TRUE(fs_.RenameFile(path("a"), path("b"), IOOptions(), nullptr).ok());
  sync_directory();
  ASSERT_TRUE(append_at(*file, 0, "qr").ok()) << "whatever the name of the file";
  EXPECT_EQ(contents(), "b=qrxyz-");
  cut_power();
  EXPECT_EQ(contents(), "b=-abc--");
}

TEST_F(FaultFileSystemTest, AKillKeepsAnOverwriteThatACutTakesBack) {
  auto file = filled("a", "------");
  ASSERT_TRUE(append(*file, "ab").ok());
  fs_.crash();
  fs_.restart_after_kill();
  EXPECT_EQ(contents(), "a=ab----");
  EXPECT_EQ(fs_.unsynced_bytes(), 2u);
  cut_power();
  EXPECT_EQ(contents(), "a=------");
}

TEST_F(FaultFileSystemTest, ATruncationIsTakenBackUntilItIsSynced) {
  auto file = filled("a", "012345");
  ASSERT_TRUE(append(*file, "abcd").ok());
  ASSERT_TRUE(file->Truncate(3, IOOptions(), nullptr).ok());
  ASSERT_TRUE(file->Truncate(2, IOOptions(), nullptr).ok());
  ASSERT_TRUE(append(*file, "e").ok());
  EXPECT_EQ(contents(), std::string("a=ab\0\0e", 7)) << "the place of the next append stays";
  cut_power();
  EXPECT_EQ(contents(), "a=012345");
}

TEST_F(FaultFileSystemTest, ASyncedTruncationStays) {
  auto file = filled("a", "012345");
  ASSERT_TRUE(append(*file, "abcd").ok());
  ASSERT_TRUE(file->Truncate(3, IOOptions(), nullptr).ok());
  ASSERT_TRUE(sync(*file).ok());
  EXPECT_EQ(fs_.unsynced_bytes(), 0u);
  cut_power();
  EXPECT_EQ(contents(), "a=abc");
}

TEST_F(FaultFileSystemTest, ATornTruncationIsThereOrNot) {
  std::set<std::string> seen;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    auto file = filled("a", "012345");
    ASSERT_TRUE(file->Truncate(3, IOOptions(), nullptr).ok());
    cut_power(seed);
    seen.insert(contents());
  }
  EXPECT_EQ(seen, (std::set<std::string>{"a=012", "a=012345"}));
}

TEST_F(FaultFileSystemTest, AfterASyncThatFailedNoOverwriteIsDurable) {
  auto file = filled("a", "------");
  ASSERT_TRUE(append(*file, "ab").ok());
  fs_.fail_syncs(true);
  EXPECT_FALSE(sync(*file).ok());
  fs_.fail_syncs(false);
  EXPECT_TRUE(sync(*file).ok());
  ASSERT_TRUE(append(*file, "cd").ok());
  EXPECT_TRUE(sync(*file).ok());
  cut_power();
  EXPECT_EQ(contents(), "a=------");
}

TEST_F(FaultFileSystemTest, TornOverwritesKeepThePrefixOfWhatWasWritten) {
  std::set<size_t> kept;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    auto file = filled("a", "----------");
    for (const char* text : {"abc", "def", "ghi"}) ASSERT_TRUE(append(*file, text).ok());
    cut_power(seed);
    const std::string left = contents().substr(2);
    const size_t prefix = left.find('-');
    ASSERT_LT(prefix, left.size());
    EXPECT_EQ(left, std::string("abcdefghi").substr(0, prefix) + std::string(10 - prefix, '-')) << seed;
    kept.insert(prefix);
  }
  EXPECT_TRUE(kept.contains(0) && kept.contains(9));
  EXPECT_TRUE(kept.contains(4) || kept.contains(5)) << "within a write";
}

TEST_F(FaultFileSystemTest, ReorderedOverwritesKeepSectorsOfAnyTime) {
  std::set<std::string> seen;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    auto file = filled("a", std::string(3 * 512, '-'));
    ASSERT_TRUE(append_at(*file, 0, std::string(2 * 512, 'a')).ok());
    ASSERT_TRUE(append_at(*file, 512, std::string(2 * 512, 'b')).ok());
    fs_.crash();
    fs_.restart_reordered(seed);
    const std::string left = contents().substr(2);
    ASSERT_EQ(left.size(), 3u * 512);
    std::string sectors;
    for (size_t at = 0; at < left.size(); at += 512) {
      sectors += left[at];
      EXPECT_EQ(left.substr(at, 512), std::string(512, left[at])) << seed;
    }
    EXPECT_TRUE(sectors[0] != 'b' && sectors[2] != 'a') << sectors;
    seen.insert(sectors);
  }
  EXPECT_EQ(seen.size(), 2u * 3 * 2);
}

TEST_F(FaultFileSystemTest, ASectorKeepsThePartsThatWereWrittenAtItsTime) {
  std::set<std::string> seen;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    auto file = filled("a", "----");
    ASSERT_TRUE(append_at(*file, 0, "abc").ok());
    ASSERT_TRUE(append_at(*file, 1, "xyz").ok());
    fs_.crash();
    fs_.restart_reordered(seed);
    seen.insert(contents());
  }
  EXPECT_EQ(seen, (std::set<std::string>{"a=----", "a=abc-", "a=axyz"}));
}

TEST_F(FaultFileSystemTest, ALostOverwriteLeavesTheOldBytes) {
  auto file = filled("a", "------");
  fs_.damage_write(FaultFileSystem::WriteDamage::kLost, 1, 0);
  ASSERT_TRUE(append(*file, "abc").ok());
  ASSERT_TRUE(append_at(*file, 2, "defghi").ok());
  ASSERT_TRUE(append(*file, "j").ok());
  EXPECT_EQ(contents(), std::string("a=abcj--\0\0", 10));
  fs_.damage_write(FaultFileSystem::WriteDamage::kLost, 0, 0);
  ASSERT_TRUE(append(*file, "k").ok());
  EXPECT_EQ(contents(), std::string("a=abcj--\0\0", 10));
}

TEST_F(FaultFileSystemTest, OverwritingNeedsNoSpace) {
  auto file = filled("a", "------");
  fs_.set_free_bytes(1);
  EXPECT_TRUE(append(*file, "abcd").ok());
  EXPECT_TRUE(append_at(*file, 5, "xy").ok());
  EXPECT_EQ(contents(), "a=abcd-xy");
  fs_.set_free_bytes(1);
  EXPECT_TRUE(append(*file, "efghi").IsNoSpace());
  EXPECT_EQ(contents(), "a=abcdefgh") << "what fits";
  EXPECT_TRUE(append_at(*file, 7, "xy").IsNoSpace());
  EXPECT_TRUE(append_at(*file, 7, "x").ok());
  EXPECT_EQ(contents(), "a=abcdefgx");
}

}  // namespace
}  // namespace fathom::store

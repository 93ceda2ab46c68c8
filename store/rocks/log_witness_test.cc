// A log is listed from its first sync to its deletion, also if the disk fails in between.
#include "store/rocks/log_witness.h"

#include <filesystem>
#include <memory>

#include <gtest/gtest.h>

#include "base/testing/temp_directory.h"
#include "store/rocks/log_prewriter.h"
#include "store/rocks/sync_overlap.h"
#include "store/testing/damage.h"
#include "store/testing/fault_file_system.h"

namespace fathom::store::testing {
namespace {

using Numbers = std::set<uint64_t>;

constexpr uint64_t kRecordBytes = 6;

class LogWitnessTest : public ::testing::Test {
 protected:
  LogWitnessTest() { write_file(directory_ / "CURRENT", "MANIFEST-000003\n"); }

  std::unique_ptr<rocksdb::FSWritableFile> create(const std::string& name) {
    std::unique_ptr<rocksdb::FSWritableFile> file;
    EXPECT_TRUE(witness_.NewWritableFile(directory_ / name, rocksdb::FileOptions(), &file, nullptr).ok());
    return file;
  }
  static bool append(rocksdb::FSWritableFile& log) { return log.Append("record", {}, nullptr).ok(); }
  uint64_t synced_bytes(uint64_t log) const {
    return SyncedLogs::read(*rocksdb::Env::Default(), directory_.path()).synced_bytes(log);
  }
  static bool sync(rocksdb::FSWritableFile& log) { return log.Sync({}, nullptr).ok(); }
  std::unique_ptr<rocksdb::FSWritableFile> create_synced(const std::string& name) {
    auto log = create(name);
    EXPECT_TRUE(append(*log) && sync(*log));
    return log;
  }
  bool remove(const std::string& name) { return witness_.DeleteFile(directory_ / name, {}, nullptr).ok(); }
  bool exists(const std::string& name) const { return std::filesystem::exists(directory_ / name); }
  Numbers listed() const { return SyncedLogs::read(*rocksdb::Env::Default(), directory_.path()).numbers(); }

  TempDirectory directory_;
  std::shared_ptr<FaultFileSystem> disk_ = std::make_shared<FaultFileSystem>();
  LogWitness witness_{disk_};
};

TEST_F(LogWitnessTest, ListsALogFromItsFirstSyncToItsDeletion) {
  const auto log = create("000004.log");
  EXPECT_TRUE(sync(*log));
  EXPECT_EQ(listed(), Numbers()) << "it has no records";
  EXPECT_TRUE(append(*log));
  EXPECT_EQ(listed(), Numbers());
  EXPECT_TRUE(sync(*log));
  EXPECT_EQ(listed(), Numbers{4});
  EXPECT_TRUE(remove("000004.log"));
  EXPECT_FALSE(exists("000004.log"));
  EXPECT_EQ(listed(), Numbers());
}

TEST_F(LogWitnessTest, CostsABatchNothing) {
  const auto log = create_synced("000004.log");
  const uint64_t files = disk_->file_syncs(), directories = disk_->directory_syncs();
  for (int batch = 0; batch < 5; ++batch) EXPECT_TRUE(append(*log) && sync(*log));
  EXPECT_EQ(disk_->file_syncs(), files + 5);
  EXPECT_EQ(disk_->directory_syncs(), directories);
}

TEST_F(LogWitnessTest, AllocatesAtMostAnEighthOfTheFreeSpaceAhead) {
  const auto log = create("000004.log");
  size_t block_bytes = 0, last_block = 0;
  disk_->set_free_bytes(8000);
  for (const auto& [wanted, allocated] : {std::pair<size_t, size_t>{1000, 1000}, {1001, 0}}) {
    log->SetPreallocationBlockSize(wanted);
    log->GetPreallocationStatus(&block_bytes, &last_block);
    EXPECT_EQ(block_bytes, allocated);
  }
}

// Its name, before the list has it; then the list.
TEST_F(LogWitnessTest, SyncsTheDirectoryTwiceForALog) {
  const uint64_t directories = disk_->directory_syncs();
  create_synced("000004.log");
  EXPECT_EQ(disk_->directory_syncs(), directories + 2);
}

// The process is killed between any two changes.
TEST_F(LogWitnessTest, ListsNoDeletedLog) {
  for (uint64_t changes = 0;; ++changes) {
    create_synced("000004.log");
    disk_->crash_after(changes);
    const bool is_removed = remove("000004.log");
    EXPECT_TRUE(exists("000004.log") || listed().empty()) << changes;
    if (is_removed) break;
    disk_->crash();
    disk_->restart_after_kill();
  }
}

TEST_F(LogWitnessTest, IgnoresOtherFiles) {
  create_synced("000004.sst");
  create_synced("000005.log.intact");
  EXPECT_FALSE(exists("synced-logs"));
}

// RocksDB syncs the log of a write that failed when it closes that log.
TEST_F(LogWitnessTest, DoesNotListALogThatEndsWithinARecord) {
  const auto log = create("000004.log");
  disk_->set_free_bytes(3);
  EXPECT_FALSE(append(*log));
  disk_->release_space();
  EXPECT_TRUE(sync(*log));
  EXPECT_EQ(listed(), Numbers());
  EXPECT_TRUE(append(*log) && sync(*log));
  EXPECT_EQ(listed(), Numbers{4});
}

TEST_F(LogWitnessTest, WorkOfTheThreadIsDoneBeforeItsSync) {
  const auto log = create("000004.log");
  EXPECT_TRUE(append(*log));
  uint64_t syncs_before_work = UINT64_MAX;
  const SyncOverlap overlap([&] { syncs_before_work = disk_->file_syncs(); });
  EXPECT_TRUE(sync(*log));
  EXPECT_EQ(syncs_before_work, 0u);
}

TEST_F(LogWitnessTest, WorkOfTheThreadIsDoneOnce) {
  const auto log = create_synced("000004.log");
  int done = 0;
  {
    SyncOverlap overlap([&] { ++done; });
    EXPECT_TRUE(sync(*log) && sync(*log));
    overlap.run();
  }
  EXPECT_EQ(done, 1);
  {
    SyncOverlap overlap([&] { ++done; });
    overlap.run();
  }
  EXPECT_EQ(done, 2);
  {
    const SyncOverlap forgotten([&] { ++done; });
  }
  EXPECT_TRUE(sync(*log));
  EXPECT_EQ(done, 2);
}

TEST_F(LogWitnessTest, WritesOutWhatIsNotSynced) {
  const auto log = create("000004.log");
  for (uint64_t records = 0; records < LogPrewriter::kSmallWritesBefore; ++records) {
    EXPECT_TRUE(append(*log));
    const SyncOverlap overlap([] {});
    EXPECT_TRUE(sync(*log));
    EXPECT_EQ(disk_->last_range_sync(), std::pair(records * kRecordBytes, kRecordBytes));
  }
  EXPECT_TRUE(append(*log));
  const SyncOverlap overlap([] {});
  EXPECT_TRUE(sync(*log));
  const auto [begin, bytes] = disk_->last_range_sync();
  EXPECT_EQ(begin, LogPrewriter::kSmallWritesBefore * kRecordBytes);
  EXPECT_EQ(begin + bytes, std::filesystem::file_size(directory_ / "000004.log")) << "also what the log is filled with";
}

// The disk refused the pages, and forgot them. A sync would find nothing to write, and succeed.
TEST_F(LogWitnessTest, ALogThatCannotBeWrittenOutIsNotSynced) {
  const auto log = create("000004.log");
  EXPECT_TRUE(append(*log));
  bool is_done = false;
  {
    const SyncOverlap overlap([&] { is_done = true; });
    disk_->fail_range_syncs(true);
    EXPECT_FALSE(sync(*log));
    disk_->fail_range_syncs(false);
  }
  EXPECT_FALSE(is_done);
  EXPECT_TRUE(sync(*log));
  EXPECT_EQ(listed(), Numbers());
}

TEST_F(LogWitnessTest, DoesNotListALogWhoseSyncFailed) {
  const auto log = create("000004.log");
  EXPECT_TRUE(append(*log));
  disk_->fail_syncs(true);
  EXPECT_FALSE(sync(*log));
  disk_->fail_syncs(false);
  EXPECT_TRUE(append(*log) && sync(*log));
  EXPECT_EQ(listed(), Numbers());
}

TEST_F(LogWitnessTest, FailsASyncOnAFullDiskAndListsTheLogLater) {
  const auto log = create("000004.log");
  EXPECT_TRUE(append(*log));
  disk_->set_free_bytes(0);
  const rocksdb::IOStatus status = log->Sync({}, nullptr);
  EXPECT_TRUE(status.IsNoSpace()) << status.ToString();
  EXPECT_FALSE(sync(*log));
  disk_->release_space();
  EXPECT_TRUE(sync(*log));
  EXPECT_EQ(listed(), Numbers{4});
}

// The log may be the largest file that a full disk can lose.
TEST_F(LogWitnessTest, DeletesALogOnAFullDisk) {
  create_synced("000004.log");
  const auto log = create_synced("000005.log");
  disk_->set_free_bytes(0);
  EXPECT_TRUE(remove("000004.log"));
  EXPECT_FALSE(exists("000004.log"));
  EXPECT_EQ(listed(), Numbers());
  EXPECT_FALSE(sync(*log));
  disk_->release_space();
  EXPECT_TRUE(sync(*log));
  EXPECT_EQ(listed(), Numbers{5});
}

TEST_F(LogWitnessTest, KeepsALogThatItCannotRemoveFromTheList) {
  create_synced("000004.log");
  disk_->fail_writes(true);
  EXPECT_FALSE(remove("000004.log"));
  EXPECT_TRUE(exists("000004.log"));
  disk_->fail_writes(false);
  EXPECT_TRUE(remove("000004.log"));
  EXPECT_EQ(listed(), Numbers());
  EXPECT_FALSE(exists("000004.log"));
}

TEST_F(LogWitnessTest, ListsItsLogsForTheNextManifestBeforeCurrentNamesIt) {
  create_synced("000004.log");
  write_file(directory_ / "000006.dbtmp", "MANIFEST-000006\n");
  EXPECT_TRUE(witness_.RenameFile(directory_ / "000006.dbtmp", directory_ / "CURRENT", {}, nullptr).ok());
  EXPECT_EQ(read_file(directory_ / "CURRENT"), "MANIFEST-000006\n");
  EXPECT_EQ(listed(), Numbers{4});
  write_file(directory_ / "CURRENT", "MANIFEST-000003\n");
  EXPECT_EQ(listed(), Numbers{4}) << "a power cut may undo the rename";
}

TEST_F(LogWitnessTest, NotesHowMuchIsSynced) {
  const auto log = create_synced("000004.log"), other = create_synced("000005.log");
  EXPECT_TRUE(append(*log) && sync(*log) && append(*log));
  EXPECT_EQ(synced_bytes(4), kRecordBytes);
  witness_.note_synced_bytes(directory_.path());
  EXPECT_EQ(synced_bytes(4), 2 * kRecordBytes) << "the third record is not synced";
  EXPECT_EQ(synced_bytes(5), kRecordBytes);
  const uint64_t files = disk_->file_syncs();
  witness_.note_synced_bytes(directory_.path());
  EXPECT_EQ(disk_->file_syncs(), files) << "nothing has changed";
}

// A manifest names files that may have rows of these records.
TEST_F(LogWitnessTest, NotesHowMuchIsSyncedBeforeAManifestIsWritten) {
  const auto log = create_synced("000004.log"), manifest = create("MANIFEST-000003");
  EXPECT_TRUE(append(*log) && sync(*log));
  EXPECT_EQ(synced_bytes(4), kRecordBytes);
  EXPECT_TRUE(append(*manifest)) << "a process that is killed now leaves the record in the page cache";
  EXPECT_EQ(synced_bytes(4), 2 * kRecordBytes);
}

TEST_F(LogWitnessTest, NotesLaterWhatAFullDiskRejected) {
  const auto log = create_synced("000004.log");
  EXPECT_TRUE(append(*log) && sync(*log));
  disk_->set_free_bytes(0);
  witness_.note_synced_bytes(directory_.path());
  EXPECT_EQ(synced_bytes(4), kRecordBytes);
  EXPECT_TRUE(sync(*log)) << "a batch does not fail by it";
  disk_->release_space();
  witness_.note_synced_bytes(directory_.path());
  EXPECT_EQ(synced_bytes(4), 2 * kRecordBytes);
}

// A deletion on a full disk removed it.
TEST_F(LogWitnessTest, NotesTheListAgainIfItIsMissing) {
  const auto deleted = create_synced("000004.log"), log = create_synced("000005.log");
  disk_->set_free_bytes(0);
  EXPECT_TRUE(remove("000004.log"));
  disk_->release_space();
  EXPECT_EQ(listed(), Numbers());
  witness_.note_synced_bytes(directory_.path());
  EXPECT_EQ(listed(), Numbers{5});
}

TEST_F(LogWitnessTest, NotesNothingBehindAFailedSync) {
  const auto log = create_synced("000004.log");
  EXPECT_TRUE(append(*log));
  disk_->fail_syncs(true);
  EXPECT_FALSE(sync(*log));
  disk_->fail_syncs(false);
  EXPECT_TRUE(append(*log) && sync(*log));
  witness_.note_synced_bytes(directory_.path());
  EXPECT_EQ(synced_bytes(4), kRecordBytes);
}

}  // namespace
}  // namespace fathom::store::testing

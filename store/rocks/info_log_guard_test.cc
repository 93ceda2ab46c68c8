// RocksDB's info log may lie on a disk that cannot be written: lines are missing, and everything else goes on.
#include "store/rocks/info_log_guard.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <utility>
#include <vector>

#include <rocksdb/db.h>

#include "base/testing/temp_directory.h"
#include "store/rocks/guarded_env.h"
#include "store/testing/damage.h"

namespace fathom::store::testing {
namespace {

using rocksdb::IOStatus;

class FullFile : public rocksdb::FSWritableFileOwnerWrapper {
 public:
  FullFile(std::unique_ptr<rocksdb::FSWritableFile> file, const std::atomic<bool>& is_full)
      : FSWritableFileOwnerWrapper(std::move(file)), is_full_(is_full) {}
  using FSWritableFileOwnerWrapper::Append;
  IOStatus Append(const rocksdb::Slice& data, const rocksdb::IOOptions& options,
                  rocksdb::IODebugContext* debug) override {
    return is_full_ ? IOStatus::NoSpace("the test's disk has no space for logs")
                    : target()->Append(data, options, debug);
  }

 private:
  const std::atomic<bool>& is_full_;
};

// Has no space for LOG while the test says so.
class DiskWithoutLogs : public rocksdb::FileSystemWrapper {
 public:
  DiskWithoutLogs() : FileSystemWrapper(rocksdb::FileSystem::Default()) {}
  const char* Name() const override { return "DiskWithoutLogs"; }
  void set_full(bool is_full) { is_full_ = is_full; }
  IOStatus NewWritableFile(const std::string& path, const rocksdb::FileOptions& options,
                           std::unique_ptr<rocksdb::FSWritableFile>* file, rocksdb::IODebugContext* debug) override {
    IOStatus status = target()->NewWritableFile(path, options, file, debug);
    if (status.ok() && path.ends_with("/LOG")) *file = std::make_unique<FullFile>(std::move(*file), is_full_);
    return status;
  }
  // In files of its own: without this, the disk below would create the log.
  IOStatus NewLogger(const std::string& path, const rocksdb::IOOptions& options, std::shared_ptr<rocksdb::Logger>* log,
                     rocksdb::IODebugContext* debug) override {
    return FileSystem::NewLogger(path, options, log, debug);
  }

 private:
  std::atomic<bool> is_full_{true};
};

class InfoLogGuardTest : public ::testing::Test {
 protected:
  std::shared_ptr<rocksdb::Logger> create_log() {
    std::shared_ptr<rocksdb::Logger> log;
    EXPECT_TRUE(env_.NewLogger(path_, &log).ok());
    return log;
  }
  static void write_line(const std::shared_ptr<rocksdb::Logger>& log, const char* line) {
    rocksdb::Error(log, "%s", line);
    log->Flush();
  }

  TempDirectory directory_;
  const std::string path_ = directory_ / "LOG";
  std::shared_ptr<DiskWithoutLogs> disk_ = std::make_shared<DiskWithoutLogs>();
  std::unique_ptr<rocksdb::Env> base_ = rocksdb::NewCompositeEnv(disk_);
  GuardedEnv env_{*base_, true};
};

// Without the guard, an assertion of RocksDB ends the process at the second line.
TEST_F(InfoLogGuardTest, LinesMayFindNoSpace) {
  const std::shared_ptr<rocksdb::Logger> log = create_log();
  write_line(log, "one");
  write_line(log, "two");
  disk_->set_full(false);
  write_line(log, "three");
  EXPECT_TRUE(log->Close().ok());
  const std::string lines = read_file(path_);
  EXPECT_EQ(lines.find("two"), std::string::npos);
  EXPECT_NE(lines.find("three"), std::string::npos);
}

TEST_F(InfoLogGuardTest, AStoreNeedsNoInfoLog) {
  rocksdb::Options options;
  options.create_if_missing = true;
  options.env = &env_;
  for (int opens = 0; opens < 2; ++opens) {
    rocksdb::DB* opened = nullptr;
    ASSERT_TRUE(rocksdb::DB::Open(options, directory_ / "db", &opened).ok());
    const std::unique_ptr<rocksdb::DB> db(opened);
    ASSERT_TRUE(db->Put({}, "key" + std::to_string(opens), "value").ok());
    db->GetOptions().info_log->Flush();
    ASSERT_TRUE(db->Flush({}).ok());
    std::string value;
    EXPECT_TRUE(db->Get({}, "key0", &value).ok());
  }
}

TEST_F(InfoLogGuardTest, ALogThatCannotBeCreatedIsReported) {
  std::shared_ptr<rocksdb::Logger> log;
  EXPECT_FALSE(env_.NewLogger(directory_ / "missing/LOG", &log).ok());
}

TEST_F(InfoLogGuardTest, OldLogsAreRemovedButTheNewest) {
  for (const char* name : {"LOG", "LOG.old.1795000000000001", "LOG.old.1795000000000003", "LOG.old.1795000000000002"}) {
    write_file(directory_ / name, "lines");
  }
  for (int i = 0; i < 2; ++i) {
    remove_old_info_logs(env_, directory_.path());
    std::vector<std::string> names;
    ASSERT_TRUE(env_.GetChildren(directory_.path(), &names).ok());
    std::sort(names.begin(), names.end());
    EXPECT_EQ(names, (std::vector<std::string>{"LOG", "LOG.old.1795000000000003"}));
  }
}

}  // namespace
}  // namespace fathom::store::testing

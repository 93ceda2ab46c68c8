// RocksDB on a FaultFileSystem: proof that the model takes away what it should, and nothing that was synced.
#include <gtest/gtest.h>
#include <rocksdb/db.h>
#include <rocksdb/listener.h>

#include <atomic>
#include <random>
#include <thread>

#include "base/testing/temp_directory.h"
#include "store/testing/fault_env.h"
#include "store/testing/fault_file_system.h"

namespace fathom::store {
namespace {

// Left to itself, RocksDB looks for space every five seconds and is busy in between; a test says when to look.
class NoAutomaticRecovery : public rocksdb::EventListener {
 public:
  void OnErrorRecoveryBegin(rocksdb::BackgroundErrorReason, rocksdb::Status, bool* automatic) override {
    *automatic = false;
  }
};

// RocksDB on top, the way the store uses it.
class FaultFileSystemUnderRocksDb : public ::testing::Test {
 protected:
  FaultFileSystemUnderRocksDb() : fs_(std::make_shared<FaultFileSystem>()), env_(std::make_unique<FaultEnv>(fs_)) {
    open();
  }

  void open() {
    rocksdb::Options options;
    options.create_if_missing = true;
    options.env = env_.get();
    options.listeners.push_back(std::make_shared<NoAutomaticRecovery>());
    rocksdb::DB* db = nullptr;
    rocksdb::Status status = rocksdb::DB::Open(options, temp_ / "db", &db);
    ASSERT_TRUE(status.ok()) << status.ToString();
    db_.reset(db);
  }
  void cut_power(std::optional<uint64_t> torn_seed = std::nullopt) {
    fs_->crash();
    db_.reset();
    fs_->restart(torn_seed);
    open();
  }
  rocksdb::Status put(const std::string& key, bool sync) {
    rocksdb::WriteOptions options;
    options.sync = sync;
    return db_->Put(options, key, std::string(100, 'v'));
  }
  bool has(const std::string& key) {
    std::string value;
    rocksdb::Status status = db_->Get(rocksdb::ReadOptions(), key, &value);
    EXPECT_TRUE(status.ok() || status.IsNotFound()) << status.ToString();
    return status.ok();
  }

  TempDirectory temp_;
  std::shared_ptr<FaultFileSystem> fs_;
  std::unique_ptr<rocksdb::Env> env_;
  std::unique_ptr<rocksdb::DB> db_;
};

TEST_F(FaultFileSystemUnderRocksDb, SyncedWritesStayAndOthersAreLost) {
  ASSERT_TRUE(put("synced", true).ok());
  ASSERT_TRUE(put("unsynced", false).ok());
  EXPECT_TRUE(has("unsynced"));
  cut_power();
  EXPECT_TRUE(has("synced"));
  EXPECT_FALSE(has("unsynced"));
  cut_power();
  EXPECT_TRUE(has("synced"));
}

TEST_F(FaultFileSystemUnderRocksDb, ClosingInGoodOrderLosesOnlyWhatTheLogHeld) {
  ASSERT_TRUE(put("unsynced", false).ok());
  db_.reset();
  fs_->crash();
  fs_->restart();
  open();
  EXPECT_FALSE(has("unsynced"));
}

TEST_F(FaultFileSystemUnderRocksDb, AFlushMakesDurable) {
  ASSERT_TRUE(put("flushed", false).ok());
  ASSERT_TRUE(db_->Flush(rocksdb::FlushOptions()).ok());
  ASSERT_TRUE(put("unsynced", false).ok());
  cut_power();
  EXPECT_TRUE(has("flushed"));
  EXPECT_FALSE(has("unsynced"));
}

TEST_F(FaultFileSystemUnderRocksDb, AFullDiskRefusesWritesUntilThereIsRoom) {
  ASSERT_TRUE(put("before", true).ok());
  fs_->set_free_bytes(500);
  int accepted = 0;
  while (put("filling" + std::to_string(accepted), true).ok()) ++accepted;
  EXPECT_GT(accepted, 0);
  EXPECT_LT(accepted, 10);
  EXPECT_FALSE(put("refused", true).ok());
  EXPECT_TRUE(has("before"));
  fs_->release_space();
  rocksdb::Status resumed = db_->Resume();
  ASSERT_TRUE(resumed.ok()) << resumed.ToString();
  ASSERT_TRUE(put("after", true).ok());
  cut_power();
  EXPECT_TRUE(has("before"));
  EXPECT_TRUE(has("after"));
  for (int i = 0; i < accepted; ++i) EXPECT_TRUE(has("filling" + std::to_string(i)));
  EXPECT_FALSE(has("refused"));
}

// The power goes while several threads write: whoever was told "durable" before finds it again.
TEST_F(FaultFileSystemUnderRocksDb, ACutAmidConcurrentWritesKeepsAllThatWasAcknowledged) {
  for (int round = 0; round < 3; ++round) {
    std::atomic<int> acknowledged{0};
    std::vector<int> last(4);
    std::vector<std::thread> writers;
    for (size_t writer = 0; writer < last.size(); ++writer) {
      writers.emplace_back([&, writer] {
        auto key = [&](int i) {
          return std::to_string(round) + "/" + std::to_string(writer) + "/" + std::to_string(i);
        };
        while (put(key(last[writer]), true).ok()) {
          ++last[writer];
          acknowledged.fetch_add(1);
          acknowledged.notify_one();
        }
      });
    }
    for (int seen = 0; seen < 200; seen = acknowledged.load()) acknowledged.wait(seen);
    fs_->crash();
    for (std::thread& writer : writers) writer.join();
    cut_power(round);
    for (size_t writer = 0; writer < last.size(); ++writer) {
      for (int i = 0; i < last[writer]; ++i) {
        ASSERT_TRUE(has(std::to_string(round) + "/" + std::to_string(writer) + "/" + std::to_string(i)));
      }
    }
  }
}

// Random writes, flushes and compactions, and many cuts: what was synced is there each time, and what is there is a
// prefix of what was written, because the log is one file.
TEST_F(FaultFileSystemUnderRocksDb, ManyCutsKeepAPrefixWithAllThatWasSynced) {
  std::mt19937_64 random(1);
  size_t written = 0;
  size_t lost = 0;
  for (int round = 0; round < 25; ++round) {
    size_t durable = written;
    for (size_t i = random() % 40; i > 0; --i) {
      bool sync = random() % 5 == 0;
      ASSERT_TRUE(put(std::to_string(written++), sync).ok());
      if (sync) durable = written;
      if (random() % 30 == 0) {
        ASSERT_TRUE(db_->Flush(rocksdb::FlushOptions()).ok());
        durable = written;
      }
      if (random() % 60 == 0) {
        ASSERT_TRUE(db_->CompactRange({}, nullptr, nullptr).ok());
        durable = written;
      }
    }
    cut_power(random() % 2 ? std::optional<uint64_t>(random()) : std::nullopt);
    size_t kept = 0;
    while (kept < written && has(std::to_string(kept))) ++kept;
    ASSERT_GE(kept, durable) << "round " << round;
    for (size_t i = kept; i < written; ++i) ASSERT_FALSE(has(std::to_string(i))) << "round " << round;
    lost += written - kept;
    written = kept;
  }
  EXPECT_GT(lost, 0u) << "a power cut that loses nothing proves nothing";
}

}  // namespace
}  // namespace fathom::store

#include "query/snapshots/snapshot_store.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <thread>

#include "base/testing/temp_directory.h"
#include "query/snapshots/file_stamp.h"
#include "query/snapshots/snapshot_counters.h"
#include "query/testing/sample_snapshots.h"

namespace fathom::query {
namespace {

using testing::image_of;
using testing::made_snapshot;
using testing::MadeSnapshot;
using testing::numbered_snapshot;
using testing::SampleSnapshots;

class SnapshotStoreTest : public ::testing::Test {
 protected:
  void start(SnapshotOptions options = {}) { sample_.emplace(std::move(options)); }
  SnapshotStore& store() { return sample_->store(); }
  MadeSnapshot upload(uint64_t n, size_t packet_bytes = 10) {
    MadeSnapshot made = made_snapshot(numbered_snapshot(n), std::string(packet_bytes, 'p'));
    auto reply = sample_->upload(made);
    EXPECT_TRUE(reply.ok()) << reply.error().message;
    EXPECT_TRUE(reply.ok() && reply->stored);
    sample_->now_unix_nano += kNanosPerSecond;
    return made;
  }
  bool is_stored(const MadeSnapshot& made) { return store().find(made.id).ok(); }
  bool has_image(uint64_t n) { return store().has_image(sha256(image_of(n))); }
  static std::string snapshot_file(const MadeSnapshot& made) { return "snapshots/" + made.id.hex() + ".snapshot"; }
  static std::string image_file(uint64_t n) { return "images/" + sha256(image_of(n)).hex(); }

  std::optional<SampleSnapshots> sample_;
};

TEST_F(SnapshotStoreTest, WhatWasUploadedIsThereAlsoAfterARestart) {
  start();
  MadeSnapshot made = upload(1, 100'000);
  ASSERT_TRUE(sample_->upload_image(image_of(1)).ok());
  for (int life = 0; life < 2; ++life) {
    auto found = store().find(made.id);
    ASSERT_TRUE(found.ok());
    EXPECT_EQ((*found)->bytes, made.bytes.size());
    EXPECT_EQ((*found)->host, "node-1");
    EXPECT_EQ(store().missing_images(**found), 0u);
    EXPECT_EQ(*store().read({false, made.id.hex()}, 0, made.bytes.size()), made.bytes);
    EXPECT_EQ(*store().read({false, made.id.hex()}, 50'000, 1000), made.bytes.substr(50'000, 1000));
    EXPECT_EQ(*store().read({true, sha256(image_of(1)).hex()}, 6, 100), image_of(1).substr(6));
    EXPECT_EQ(*store().read({true, sha256(image_of(1)).hex()}, 600, 100), "");
    sample_->restart();
  }
}

TEST_F(SnapshotStoreTest, TheSameAgainIsStoredAtOnce) {
  start();
  MadeSnapshot made = upload(1);
  auto again = store().take({{false, made.id.hex()}, 0, made.bytes.size()}, made.bytes.substr(0, 5));
  EXPECT_TRUE(again->stored);
  auto asked = store().take({{false, made.id.hex()}, 0, 1}, "");
  EXPECT_TRUE(asked->stored);
}

// A disk whose directory syncs fail while a test says so.
class SnapshotStoreFailingSync : public SnapshotStoreTest {
 protected:
  void start() {
    SnapshotStoreTest::start({.sync_directory = [this](const std::string& path) {
      synced_.insert(std::filesystem::path(path).filename());
      return fails_ ? Result<>(internal("the test's disk fails to sync " + path)) : sync_directory(path);
    }});
  }

  bool fails_ = false;
  std::set<std::string> synced_;  // names of directories
};

TEST_F(SnapshotStoreFailingSync, ASnapshotIsNotAcknowledgedUntilASyncSucceeds) {
  start();
  const MadeSnapshot made = made_snapshot(numbered_snapshot(1));
  const uint64_t refused = refused_uploads("sync_failed").value();
  fails_ = true;
  for (int attempt = 0; attempt < 2; ++attempt) {
    auto reply = sample_->upload(made);
    ASSERT_FALSE(reply.ok()) << "attempt " << attempt;
    EXPECT_EQ(reply.error().code, ErrorCode::kUnavailable);
    EXPECT_FALSE(store().take({{false, made.id.hex()}, 0, made.bytes.size()}, "")->stored);
    EXPECT_FALSE(is_stored(made));
    EXPECT_FALSE(sample_->has_file(snapshot_file(made)));
  }
  EXPECT_EQ(refused_uploads("sync_failed").value() - refused, 2u);
  fails_ = false;
  auto reply = sample_->upload(made);
  ASSERT_TRUE(reply.ok()) << reply.error().message;
  EXPECT_TRUE(reply->stored);
  EXPECT_TRUE(is_stored(made));
}

// A process may have been killed after it named a file and before that name was durable.
TEST_F(SnapshotStoreFailingSync, WhatAStartFindsIsDurable) {
  start();
  const MadeSnapshot made = upload(1);
  synced_.clear();
  sample_->restart();
  EXPECT_EQ(synced_, (std::set<std::string>{"snapshots", "images"}));
  EXPECT_TRUE(is_stored(made));
}

TEST_F(SnapshotStoreFailingSync, AStartThatCannotSyncFails) {
  const TempDirectory directory;
  for (const char* failing : {"snapshots", "images"}) {
    SnapshotOptions options{.path = directory.path()};
    options.sync_directory = [&](const std::string& path) {
      return path.ends_with(failing) ? Result<>(internal("the test's disk fails")) : sync_directory(path);
    };
    auto opened = SnapshotStore::open(options, {}, {});
    ASSERT_FALSE(opened.ok());
    EXPECT_EQ(opened.error().code, ErrorCode::kUnavailable);
  }
}

TEST_F(SnapshotStoreFailingSync, AnImageIsMissingUntilASyncSucceeds) {
  start();
  fails_ = true;
  for (int attempt = 0; attempt < 2; ++attempt) {
    EXPECT_FALSE(sample_->upload_image(image_of(1)).ok()) << "attempt " << attempt;
    EXPECT_EQ(store().missing_images(std::vector{sha256(image_of(1))}).size(), 1u);
    EXPECT_FALSE(sample_->has_file(image_file(1)));
  }
  fails_ = false;
  EXPECT_TRUE(sample_->upload_image(image_of(1)).ok());
  EXPECT_TRUE(has_image(1));
}

TEST_F(SnapshotStoreTest, DamageIsRefusedBeforeItHasAName) {
  start();
  MadeSnapshot made = made_snapshot(numbered_snapshot(1));
  for (size_t cut : {size_t{0}, size_t{20}, made.bytes.size() / 2}) {
    std::string damaged = made.bytes;
    damaged[cut] ^= 1;
    if (cut == 20) continue;  // among the packets, which are not looked at
    const std::string name = sha256(damaged).hex().substr(0, 32);
    auto refused = sample_->upload({false, name}, damaged);
    ASSERT_FALSE(refused.ok()) << cut;
    EXPECT_EQ(refused.error().code, ErrorCode::kInvalid);
    EXPECT_FALSE(sample_->has_file("snapshots/" + name + ".snapshot"));
  }
  const std::string text = "no snapshot at all, but long enough to be looked at as one, more or less";
  EXPECT_FALSE(sample_->upload({false, sha256(text).hex().substr(0, 32)}, text).ok());
  EXPECT_FALSE(sample_->upload({false, made.id.hex()}, text).ok()) << "another's name";
}

TEST_F(SnapshotStoreTest, ADescriptionThatCostsTooMuchIsRefused) {
  start();
  auto crowd = numbered_snapshot(1);
  crowd.images.resize(kMostSnapshotImages + 1, crowd.images[0]);
  EXPECT_EQ(sample_->upload(made_snapshot(crowd)).error().code, ErrorCode::kExhausted);
  auto wordy = numbered_snapshot(1);
  wordy.host = std::string(2000, 'h');
  EXPECT_EQ(sample_->upload(made_snapshot(wordy)).error().code, ErrorCode::kExhausted);
  auto long_winded = numbered_snapshot(1);
  long_winded.sideband.resize(1'300'000);  // 14 bytes each
  EXPECT_EQ(sample_->upload(made_snapshot(long_winded)).error().code, ErrorCode::kExhausted);
}

TEST_F(SnapshotStoreTest, BeyondTheBudgetTheOldestGoWithTheirImages) {
  start({.most_bytes = 1 << 20});
  std::vector<MadeSnapshot> made;
  for (uint64_t n = 0; n < 4; ++n) {
    made.push_back(upload(n, 300'000));
    ASSERT_TRUE(sample_->upload_image(image_of(n)).ok());
    sample_->now_unix_nano += 2 * kNanosPerHour;
  }
  store().tick();
  EXPECT_FALSE(is_stored(made[0]));
  EXPECT_FALSE(sample_->has_file(snapshot_file(made[0])));
  EXPECT_FALSE(has_image(0));
  EXPECT_FALSE(sample_->has_file(image_file(0)));
  for (size_t n : {1, 2, 3}) {
    EXPECT_TRUE(is_stored(made[n])) << n;
    EXPECT_TRUE(has_image(n)) << n;
  }
  auto large = made_snapshot(numbered_snapshot(9), std::string(600'000, 'p'));
  EXPECT_EQ(sample_->upload(large).error().code, ErrorCode::kExhausted) << "more than half of it all";
}

TEST_F(SnapshotStoreTest, WithAgeTheyGo) {
  start({.retention_age_nano = 10 * kNanosPerSecond});
  MadeSnapshot old = upload(1);
  sample_->now_unix_nano += 9 * kNanosPerSecond;
  MadeSnapshot young = upload(2);
  store().tick();
  EXPECT_FALSE(is_stored(old));
  EXPECT_TRUE(is_stored(young));
}

// Also the stamps of files, which a restart reads, and images and answers that nothing else keeps.
TEST_F(SnapshotStoreTest, NoStepOfTheWallClockDropsAnything) {
  constexpr int64_t kDay = 24 * static_cast<int64_t>(kNanosPerHour);
  start({.retention_age_nano = 7 * static_cast<uint64_t>(kDay)});
  std::vector<MadeSnapshot> made;
  for (int64_t step : {8 * kDay, -8 * kDay, 3650 * kDay, -15'000 * kDay, int64_t{0}}) {
    made.push_back(upload(made.size()));
    ASSERT_TRUE(sample_->upload_image("image of " + std::to_string(step)).ok());
    std::ofstream(sample_->path() + "/results/" + made.back().id.hex() + "-abc") << "answer";
    sample_->step_nano = step;
    sample_->observe_clock();
    store().tick();
    for (int restarts = 0; restarts < 2; ++restarts) {
      for (const MadeSnapshot& one : made) {
        EXPECT_TRUE(is_stored(one)) << step;
        EXPECT_TRUE(sample_->has_file("results/" + one.id.hex() + "-abc")) << step;
      }
      EXPECT_TRUE(sample_->has_file("images/" + sha256("image of " + std::to_string(step)).hex())) << step;
      sample_->restart();
      store().tick();
    }
  }
  sample_->now_unix_nano += 7 * static_cast<uint64_t>(kDay) - 10 * kNanosPerSecond;
  store().tick();
  EXPECT_TRUE(is_stored(made.back()));
  sample_->now_unix_nano += kNanosPerMinute;
  store().tick();
  for (const MadeSnapshot& one : made) EXPECT_FALSE(is_stored(one)) << "no step makes it immortal";
}

// As by a copy that does not keep times.
TEST_F(SnapshotStoreTest, AFileFromTheFutureIsOfTheRestart) {
  start({.retention_age_nano = 10 * kNanosPerSecond});
  MadeSnapshot made = upload(1);
  sample_->end();
  ASSERT_TRUE(write_file_stamp(sample_->path() + "/" + snapshot_file(made), 2 * sample_->now_unix_nano).ok());
  sample_->restart();
  EXPECT_EQ((*store().find(made.id))->received_stamp_nano, sample_->now_unix_nano);
  sample_->now_unix_nano += kNanosPerMinute;
  store().tick();
  EXPECT_FALSE(is_stored(made));
}

TEST_F(SnapshotStoreTest, ImagesThatNobodyNamesHaveAnHour) {
  start();
  ASSERT_TRUE(sample_->upload_image(image_of(1)).ok());
  ASSERT_TRUE(sample_->upload_image(image_of(2)).ok());
  ASSERT_TRUE(sample_->upload_image(image_of(3)).ok());
  upload(3);
  sample_->now_unix_nano += kNanosPerHour - 10 * kNanosPerSecond;
  store().tick();
  EXPECT_TRUE(has_image(1) && has_image(2));
  const Sha256 asked[] = {sha256(image_of(2)), sha256("another")};
  EXPECT_EQ(store().missing_images(asked), std::vector{sha256("another")});
  sample_->now_unix_nano += kNanosPerMinute;
  store().tick();
  EXPECT_FALSE(has_image(1));
  EXPECT_TRUE(has_image(2)) << "somebody relies on it";
  EXPECT_TRUE(has_image(3)) << "it is named";
}

TEST_F(SnapshotStoreTest, ImagesThatNobodyNamesCannotPushSnapshotsOut) {
  start({.most_bytes = 1 << 20});
  MadeSnapshot made = upload(1);
  for (uint64_t n = 0; n < 8; ++n) (void)sample_->upload_image(std::string(100'000, static_cast<char>('a' + n)));
  EXPECT_TRUE(is_stored(made));
  EXPECT_EQ(sample_->upload_image("one more").error().code, ErrorCode::kUnavailable);
}

TEST_F(SnapshotStoreTest, ResultsGoWithTheirSnapshot) {
  start({.retention_age_nano = 10 * kNanosPerSecond});
  sample_->now_unix_nano = now_unix_nano();
  MadeSnapshot made = upload(1);
  std::ofstream(sample_->path() + "/results/" + made.id.hex() + "-abc") << "answer";
  std::ofstream(sample_->path() + "/results/" + made.id.hex() + "-" + std::string(32, '1') + "-abc") << "diff";
  store().tick();
  EXPECT_TRUE(sample_->has_file("results/" + made.id.hex() + "-abc"));
  EXPECT_FALSE(sample_->has_file("results/" + made.id.hex() + "-" + std::string(32, '1') + "-abc"));
  sample_->now_unix_nano += kNanosPerMinute;
  store().tick();
  EXPECT_FALSE(sample_->has_file("results/" + made.id.hex() + "-abc"));
}

TEST_F(SnapshotStoreTest, OneThatIsDamagedOnTheDiskSaysSo) {
  start();
  MadeSnapshot made = upload(1);
  sample_->end();
  std::filesystem::resize_file(sample_->path() + "/" + snapshot_file(made), made.bytes.size() - 1);
  sample_->restart();
  auto found = store().find(made.id);
  ASSERT_TRUE(found.ok());
  EXPECT_TRUE((*found)->damaged);
  EXPECT_FALSE(store().description(made.id).ok());
  EXPECT_TRUE(sample_->upload(made)->stored) << "it may be sent again";
  EXPECT_FALSE((*store().find(made.id))->damaged);
  EXPECT_EQ(store().description(made.id)->host, "node-1");
}

TEST_F(SnapshotStoreTest, DraftsOfAnEarlierLifeAreRemoved) {
  start();
  sample_->end();
  std::ofstream(sample_->path() + "/drafts/left") << "behind";
  sample_->restart();
  EXPECT_FALSE(sample_->has_file("drafts/left"));
}

TEST_F(SnapshotStoreTest, OnAFullDiskNothingIsTaken) {
  start({.reserve_disk_bytes = UINT64_MAX / 4});
  // Of a disk that is not small, an eighth is the most that is kept free, twice.
  const auto disk = std::filesystem::space(sample_->path());
  const bool full = disk.available < disk.capacity / 4;
  auto reply = sample_->upload(made_snapshot(numbered_snapshot(1)));
  EXPECT_EQ(reply.ok(), !full);
}

}  // namespace
}  // namespace fathom::query

// A node's snapshots on its disk, and their way to a collector that is scripted.
#include "node-agent/snapshots/snapshot_courier.h"
#include "base/testing/temp_directory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <thread>

#include "base/time.h"
#include "node-agent/snapshots/snapshot_metrics.h"

namespace fathom::agent {
namespace {

namespace fs = std::filesystem;
using snapshot::SnapshotId;
using State = PieceReply::State;

class SnapshotSpoolTest : public testing::Test {
 protected:
  void open(uint64_t limit_bytes = 1 << 30) {
    auto opened = SnapshotSpool::open(path_, limit_bytes);
    ASSERT_TRUE(opened.ok()) << opened.error().message;
    spool_ = *std::move(opened);
  }
  // With one image, and so many bytes of packets.
  SnapshotId add(const std::string& image, size_t packet_bytes = 100) {
    snapshot::Snapshot made;
    made.command = image.substr(0, 10);
    made.streams.push_back({.cpu = 0, .pid = -1, .tid = -1, .pieces = {}});
    auto stored = spool_->directory().add_image_bytes(image);
    made.images.push_back({.name = "/bin/x", .build_id = "", .content = stored->content, .bytes = stored->bytes});
    const std::string draft = *spool_->directory().draft();
    auto writer = snapshot::SnapshotWriter::begin(Fd(::open(draft.c_str(), O_RDWR | O_CLOEXEC)));
    const std::vector<uint8_t> packets(packet_bytes, 'p');
    EXPECT_TRUE(writer->packets(0, 0, packets).ok());
    const SnapshotId id = *writer->finish(std::move(made));
    EXPECT_TRUE(spool_->directory().publish(draft, id).ok());
    fs::last_write_time(spool_->directory().snapshot_path(id), fs::file_time_type::clock::now() + ++age_);
    return id;
  }
  bool has(const SnapshotId& id) const { return fs::exists(spool_->directory().snapshot_path(id)); }

  TempDirectory scratch_;
  const std::string path_ = scratch_.path();
  std::chrono::seconds age_{-1000};
  std::unique_ptr<SnapshotSpool> spool_;
};

TEST_F(SnapshotSpoolTest, TheOldestGoWhenThereIsNoRoomAndAreCounted) {
  EXPECT_FALSE(SnapshotSpool::has_any(path_));
  open(300'000);
  const SnapshotId first = add("first", 100'000);
  const SnapshotId second = add("second", 100'000);
  spool_->trim();
  EXPECT_EQ(spool_->waiting(), (std::vector{first, second}));
  const uint64_t before = lost_snapshots("spool_full").value();
  const SnapshotId third = add("third", 150'000);
  spool_->trim();
  EXPECT_EQ(spool_->waiting(), (std::vector{second, third}));
  EXPECT_EQ(lost_snapshots("spool_full").value(), before + 1);
  EXPECT_TRUE(SnapshotSpool::has_any(path_));
}

TEST_F(SnapshotSpoolTest, ItsLimitMayBeSetAnew) {
  open(100'000);
  const SnapshotId first = add("first", 100'000);
  spool_->set_limit(300'000);
  spool_->trim();
  const SnapshotId second = add("second", 100'000);
  EXPECT_EQ(spool_->waiting(), (std::vector{first, second}));
  spool_->set_limit(150'000);
  EXPECT_EQ(spool_->waiting(), (std::vector{first, second})) << "what is beyond it goes with the next";
  spool_->trim();
  EXPECT_EQ(spool_->waiting(), std::vector{second});
}

TEST_F(SnapshotSpoolTest, ImagesThatNobodyWaitsForGoFirst) {
  open(250'000);
  const std::string image(100'000, 'i'), other(100'000, 'o');
  spool_->sent(add(image));
  const SnapshotId waits = add(other, 100'000);
  EXPECT_TRUE(spool_->directory().has_image(sha256(image))) << "it need not be copied again";
  spool_->trim();
  EXPECT_FALSE(spool_->directory().has_image(sha256(image)));
  EXPECT_TRUE(spool_->directory().has_image(sha256(other)));
  EXPECT_TRUE(has(waits));
}

// A collector that keeps what comes, or answers as it is told.
class FakeCollector {
 public:
  PieceReply put(const ContentName& name, uint64_t offset, uint64_t total, std::string_view bytes) {
    std::lock_guard lock(mutex_);
    ++puts_;
    if (!scripted_.empty()) {
      PieceReply reply = scripted_.front();
      if (scripted_.size() > 1) scripted_.erase(scripted_.begin());
      return reply;
    }
    const std::string key = name.snapshot.is_zero() ? name.image.hex() : name.snapshot.hex();
    std::string& content = contents_[key];
    if (content.size() == total) return {.state = State::kStored, .next_offset = total, .message = ""};
    if (offset == content.size()) content += bytes;
    const bool whole = content.size() == total;
    if (whole) order_.push_back(key);
    return {.state = whole ? State::kStored : State::kDue, .next_offset = content.size(), .message = ""};
  }
  Result<std::vector<Sha256>> missing(std::span<const Sha256> images) {
    std::lock_guard lock(mutex_);
    if (is_away_) return unavailable("away");
    std::vector<Sha256> all;
    std::ranges::copy_if(images, std::back_inserter(all),
                         [&](const Sha256& one) { return !contents_.contains(one.hex()); });
    return all;
  }
  void be_away(bool away) {
    std::lock_guard lock(mutex_);
    is_away_ = away;
  }
  void script(std::vector<PieceReply> replies) {
    std::lock_guard lock(mutex_);
    scripted_ = std::move(replies);
  }
  void have(const std::string& key, std::string content) {
    std::lock_guard lock(mutex_);
    contents_[key] = std::move(content);
  }
  std::vector<std::string> order() {
    std::lock_guard lock(mutex_);
    return order_;
  }
  size_t puts() {
    std::lock_guard lock(mutex_);
    return puts_;
  }

 private:
  std::mutex mutex_;
  std::map<std::string, std::string> contents_;
  std::vector<std::string> order_;
  std::vector<PieceReply> scripted_;  // the last for ever
  bool is_away_ = false;
  size_t puts_ = 0;
};

class FakeLink final : public SnapshotLink {
 public:
  explicit FakeLink(FakeCollector& collector) : collector_(collector) {}
  PieceReply put(const ContentName& name, uint64_t offset, uint64_t total_bytes, std::string_view bytes) override {
    return collector_.put(name, offset, total_bytes, bytes);
  }
  Result<std::vector<Sha256>> missing_images(std::span<const Sha256> images) override {
    return collector_.missing(images);
  }
  void cancel() override {}

 private:
  FakeCollector& collector_;
};

class SnapshotCourierTest : public SnapshotSpoolTest {
 protected:
  void start() {
    courier_ = std::make_unique<SnapshotCourier>(*spool_, std::make_unique<FakeLink>(collector_),
                                                 SnapshotCourierOptions{1'000'000, 4'000'000});
  }
  template <typename Condition>
  static bool until(Condition condition) {
    const uint64_t give_up = now_monotonic_nano() + 60 * kNanosPerSecond;
    while (!condition()) {
      if (now_monotonic_nano() > give_up) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return true;
  }
  bool until_all_is_sent() {
    return until([&] { return spool_->waiting().empty(); });
  }

  FakeCollector collector_;
  std::unique_ptr<SnapshotCourier> courier_;
};

TEST_F(SnapshotCourierTest, ImagesComeFirstAndOnce) {
  open();
  const SnapshotId first = add("image", 3'000'000);
  const SnapshotId second = add("image", 10);
  start();
  ASSERT_TRUE(until_all_is_sent());
  EXPECT_EQ(collector_.order(), (std::vector<std::string>{sha256("image").hex(), first.hex(), second.hex()}));
  const SnapshotId third = add("another");
  courier_->notify();
  ASSERT_TRUE(until_all_is_sent());
  EXPECT_EQ(collector_.order().back(), third.hex());
}

TEST_F(SnapshotCourierTest, ACollectorThatIsAwayIsWaitedFor) {
  open();
  collector_.be_away(true);
  const SnapshotId id = add("image");
  const uint64_t before = snapshot_retries().value();
  start();
  ASSERT_TRUE(until([&] { return snapshot_retries().value() > before + 3; }));
  EXPECT_TRUE(has(id));
  collector_.be_away(false);
  ASSERT_TRUE(until_all_is_sent());
}

TEST_F(SnapshotCourierTest, WhatWasBegunGoesOn) {
  open();
  const SnapshotId id = add("image", 3'000'000);
  std::ifstream file(spool_->directory().snapshot_path(id), std::ios::binary);
  std::string begin(2'000'000, '\0');
  file.read(begin.data(), static_cast<std::streamsize>(begin.size()));
  collector_.have(id.hex(), begin);
  start();
  ASSERT_TRUE(until_all_is_sent());
  EXPECT_LE(collector_.puts(), 5u) << "two of the image, a question and one megabyte and a bit";
  EXPECT_EQ(collector_.order().back(), id.hex());
}

TEST_F(SnapshotCourierTest, WhatIsRefusedAgainAndAgainIsDroppedAndCounted) {
  open();
  add("image");
  const uint64_t before = lost_snapshots("refused").value();
  collector_.script({{.state = State::kRefused, .message = "too large"}});
  start();
  ASSERT_TRUE(until_all_is_sent());
  EXPECT_EQ(lost_snapshots("refused").value(), before + 1);
  ASSERT_FALSE(snapshot_losses().empty());
}

TEST_F(SnapshotCourierTest, OneThatWasRefusedOnceIsSentAllTheSame) {
  open();
  const SnapshotId id = add("image");
  collector_.have(sha256("image").hex(), "image");
  collector_.script({{.state = State::kRefused, .message = "a wrong hash"}, {.state = State::kStored, .message = ""}});
  const uint64_t sent = sent_snapshots().value();
  start();
  ASSERT_TRUE(until_all_is_sent());
  EXPECT_EQ(sent_snapshots().value(), sent + 1);
  EXPECT_FALSE(has(id));
}

TEST_F(SnapshotCourierTest, ADamagedOneIsCountedAndDoesNotHoldUpTheOthers) {
  open();
  const SnapshotId damaged = add("image");
  fs::resize_file(spool_->directory().snapshot_path(damaged), 20);
  const SnapshotId good = add("image", 200);
  const uint64_t before = lost_snapshots("damaged").value();
  start();
  ASSERT_TRUE(until_all_is_sent());
  EXPECT_EQ(lost_snapshots("damaged").value(), before + 1);
  EXPECT_EQ(collector_.order().back(), good.hex());
}

TEST_F(SnapshotCourierTest, AnswersThatLeadNowhereEndNothing) {
  open();
  const SnapshotId id = add("image");
  collector_.script({{.state = State::kDue, .next_offset = 1ull << 60, .message = ""}});
  const uint64_t before = snapshot_retries().value();
  start();
  ASSERT_TRUE(until([&] { return snapshot_retries().value() > before + 2; }));
  EXPECT_TRUE(has(id));
}

}  // namespace
}  // namespace fathom::agent

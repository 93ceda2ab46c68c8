#include "node-agent/uplink/spool.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <deque>
#include <fstream>
#include <random>

#include "node-agent/uplink/testing/spool_fixture.h"

namespace fathom::agent {
namespace {

using namespace testing;

TEST_F(SpoolTest, GivesBackInOrderAndGoesWhenAllIsSent) {
  open();
  for (uint64_t n = 1; n <= 5; ++n) append(n);
  EXPECT_EQ(spool_->waiting(), 5u);
  for (uint64_t n = 1; n <= 5; ++n) {
    ASSERT_EQ(take(), n);
    spool_->remove(last_);
  }
  EXPECT_EQ(take(), 0u);
  EXPECT_EQ(spool_->bytes(), 0u);
  EXPECT_TRUE(files().empty());
  append(6);
  EXPECT_EQ(take(), 6u);
}

TEST_F(SpoolTest, WhatWasTakenAndNotRemovedComesAgain) {
  open();
  append(1);
  append(2);
  append(3);
  append(4, 50, true);
  EXPECT_EQ(take(), 1u);
  uint64_t first = last_;
  EXPECT_EQ(take(), 2u);
  spool_->remove(last_);
  spool_->release(first);
  EXPECT_EQ(take(), 1u) << "the oldest first";
  EXPECT_EQ(take(), 3u);
  EXPECT_EQ(take(), 0u) << "one is taken from the start";
  open();
  EXPECT_EQ(take(), 1u);
  EXPECT_EQ(take(), 3u);
  EXPECT_EQ(take(), 4u);
  EXPECT_EQ(take(), 0u);
}

TEST_F(SpoolTest, ManyFilesAndEachGoesByItself) {
  options_.file_bytes = 1000;
  open();
  for (uint64_t n = 1; n <= 50; ++n) append(n, 200);
  EXPECT_GT(files().size(), 10u);
  open();
  for (uint64_t n = 1; n <= 50; ++n) {
    EXPECT_EQ(take(200), n);
    spool_->remove(last_);
  }
  EXPECT_EQ(spool_->bytes(), 0u);
  EXPECT_TRUE(files().empty());
}

TEST_F(SpoolTest, IsBounded) {
  options_.limit_bytes = 2000;
  options_.file_bytes = 500;
  open();
  uint64_t n = 1;
  while (spool_->append(head(n), payload(n, 100), false).ok()) ++n;
  EXPECT_LE(spool_->bytes(), 2000u);
  EXPECT_GT(n, 5u);
  EXPECT_EQ(spool_->append(head(n), payload(n, 100), false).error().code, ErrorCode::kExhausted);
  EXPECT_EQ(take(100), 1u);
  spool_->remove(last_);
  EXPECT_EQ(take(100), 2u);
  spool_->remove(last_);
  EXPECT_EQ(take(100), 3u);
  spool_->remove(last_);
  EXPECT_TRUE(spool_->append(head(n), payload(n, 100), false).ok()) << "a file went";
}

TEST_F(SpoolTest, ItsLimitMayBeSetAnew) {
  options_.limit_bytes = 2000;
  open();
  uint64_t n = 1;
  while (spool_->append(head(n), payload(n, 100), false).ok()) ++n;
  spool_->set_limit(3000);
  ASSERT_TRUE(spool_->append(head(n), payload(n, 100), false).ok());
  spool_->set_limit(0);
  EXPECT_EQ(spool_->append(head(n), payload(n, 100), false).error().code, ErrorCode::kExhausted);
  for (uint64_t left = 1; left <= n; ++left) EXPECT_EQ(take(100), left) << "nothing goes of what lies there";
}

TEST_F(SpoolTest, WhatIsNoDirectoryIsNamed) {
  std::string file = options_.directory;
  std::ofstream(file) << "x";
  Result<std::unique_ptr<Spool>> opened = Spool::open(options_);
  ASSERT_FALSE(opened.ok());
  EXPECT_NE(opened.error().message.find(file), std::string::npos);
}

// A limit of file sizes is as a disk that fills up in the middle of a write.
TEST_F(SpoolTest, AFullDiskIsAFullSpoolAndLeavesNoTorn) {
  auto before = ::signal(SIGXFSZ, SIG_IGN);
  open();
  append(1);
  rlimit old{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &old), 0);
  rlimit tight = old;
  tight.rlim_cur = spool_->bytes() + 120;
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &tight), 0);
  Result<uint64_t> refused = spool_->append(head(2), payload(2, 50), false);
  ::setrlimit(RLIMIT_FSIZE, &old);
  ::signal(SIGXFSZ, before);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kExhausted);
  append(3);
  open();
  EXPECT_EQ(take(), 1u);
  EXPECT_EQ(take(), 3u);
  EXPECT_EQ(spool_->damaged_spans(), 0u);
}

TEST_F(SpoolTest, OnlyTheSameBootsInstantsCount) {
  open();
  append(1);
  open();
  EXPECT_TRUE(next()->same_boot);
  options_.boot_id[0] = 2;
  open();
  EXPECT_FALSE(next()->same_boot);
}

TEST_F(SpoolTest, StrangersFilesAreLeftAlone) {
  open();
  append(1);
  spool_.reset();
  std::ofstream(options_.directory + "/notes.txt") << "mine";
  std::ofstream(options_.directory + "/zzzzzzzzzzzzzzzz.spool") << "no number";
  fs::create_symlink("/dev/zero", options_.directory + "/00000000000000aa.spool");
  fs::create_directory(options_.directory + "/00000000000000ab.spool");
  std::string newer = encode_file_head(options_.boot_id);
  newer[8] = 2;
  std::ofstream(options_.directory + "/00000000000000ac.spool") << newer << "what a later version says";
  open();
  EXPECT_EQ(take(), 1u);
  EXPECT_EQ(take(), 0u);
  spool_->remove(last_);
  EXPECT_EQ(files().size(), 5u);
  append(2);
  EXPECT_EQ(files().size(), 6u);
}

// Files of every released version must stay readable: they lie on hosts whose agent is replaced.
TEST_F(SpoolTest, VersionOneReads) {
  options_.boot_id = {};
  fs::create_directory(options_.directory);
  fs::copy_file(FATHOM_TESTDATA "/spool-v1.bin", options_.directory + "/0000000000000001.spool");
  open();
  std::optional<SpooledBatch> first = next();
  ASSERT_TRUE(first);
  EXPECT_EQ(first->otlp, "first payload");
  EXPECT_EQ(first->head.spans, 3u);
  EXPECT_EQ(first->head.built.real_nano, 1u);
  EXPECT_EQ(first->head.built.boot_nano, 2u);
  EXPECT_EQ(first->head.built.uncertain_nano, 3u);
  EXPECT_FALSE(first->head.clock);
  EXPECT_TRUE(first->same_boot);
  std::optional<SpooledBatch> third = next();
  ASSERT_TRUE(third) << "the second was acknowledged";
  EXPECT_EQ(third->otlp, std::string(100, 'x'));
  EXPECT_EQ(third->head.clock, (ClockOffset{-5, 6}));
  EXPECT_FALSE(next());
}

// Operations at random against a list; at every turn the agent may be killed, with any number of the last write's bytes
// missing. What was appended before must be there, the last write may be.
class SpoolModel : public SpoolTest, public ::testing::WithParamInterface<uint32_t> {
 protected:
  struct Item {
    uint64_t number;
    uint64_t id;
    bool taken;
  };

  void append_one() {
    bool taken = random_() % 4 == 0;
    Result<uint64_t> id = spool_->append(head(next_), payload(next_, 50), taken);
    if (id.ok()) model_.push_back({next_, *id, taken});
    ++next_;
  }
  void take_one() {
    uint64_t number = take();
    auto first = std::find_if(model_.begin(), model_.end(), [](const Item& item) { return !item.taken; });
    ASSERT_EQ(number, first == model_.end() ? 0 : first->number);
    if (number == 0) return;
    first->taken = true;
    first->id = last_;
  }
  void release_or_remove_one(bool release) {
    if (model_.empty()) return;
    size_t at = random_() % model_.size();
    Item& item = model_[at];
    if (!item.taken) return;
    if (release) {
      spool_->release(item.id);
      item.taken = false;
    } else {
      spool_->remove(item.id);
      model_.erase(model_.begin() + static_cast<std::ptrdiff_t>(at));
    }
  }
  // One more entry, of which the end is missing.
  void tear() {
    uint64_t before = spool_->bytes();
    uint64_t number = next_++;
    if (!spool_->append(head(number), payload(number, 50), true).ok()) return;
    fs::path last = files().back();
    uint64_t written = std::min<uint64_t>(spool_->bytes() - before, fs::file_size(last));
    fs::resize_file(last, fs::file_size(last) - 1 - random_() % written);
  }
  // Everything is there, in order; ids are new after a start.
  void kill() {
    if (random_() % 2 == 0) tear();
    open();
    for (Item& item : model_) {
      ASSERT_EQ(take(), item.number);
      item.id = last_;
      item.taken = true;
    }
    ASSERT_EQ(take(), 0u);
    ASSERT_EQ(spool_->damaged_spans(), 0u) << "nobody was told that the torn one is kept";
  }
  void step() {
    uint32_t what = random_() % 100;
    if (what < 45) return append_one();
    if (what < 70) return take_one();
    if (what < 95) return release_or_remove_one(what < 75);
    kill();
  }

  std::mt19937 random_{GetParam()};
  std::deque<Item> model_;
  uint64_t next_ = 1;
};

TEST_P(SpoolModel, NothingThatWasWrittenIsLostNorComesTwice) {
  options_.file_bytes = 400 + random_() % 2000;
  options_.limit_bytes = 20'000;
  open();
  for (int i = 0; i < 400; ++i) {
    SCOPED_TRACE("step " + std::to_string(i));
    step();
    ASSERT_FALSE(HasFatalFailure());
    ASSERT_LE(spool_->bytes(), options_.limit_bytes);
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, SpoolModel, ::testing::Range(0u, 60u));

}  // namespace
}  // namespace fathom::agent

#include "query/snapshots/uploads.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <sstream>
#include <thread>
#include <vector>

#include "base/sha256.h"
#include "base/testing/temp_directory.h"

namespace fathom::query {
namespace {

class UploadsTest : public ::testing::Test {
 protected:
  UploadsTest() : snapshots_(*snapshot::SnapshotDirectory::open(directory_.path())) { restart({}); }

  void restart(UploadLimits limits) {
    uploads_ = std::make_unique<Uploads>(
        snapshots_, limits,
        [this](const UploadPiece& piece, const std::string& draft) { return publish(piece, draft); },
        [this] { return now_.load(); });
  }
  Result<> publish(const UploadPiece& piece, const std::string& draft) {
    if (verdict_) return *verdict_;
    std::ostringstream text;
    text << std::ifstream(draft, std::ios::binary).rdbuf();
    std::lock_guard lock(mutex_);
    published_[piece.name.hex].push_back(text.str());
    return {};
  }
  static UploadPiece piece(const std::string& content, uint64_t offset, uint64_t total) {
    return {.name = {true, sha256(content).hex()}, .offset = offset, .total = total};
  }
  Result<UploadReply> send(const std::string& content, uint64_t offset, size_t size) {
    return uploads_->take(piece(content, offset, content.size()), std::string_view(content).substr(offset, size));
  }
  size_t drafts() const {
    auto entries = std::filesystem::directory_iterator(directory_.path() + "/drafts");
    return static_cast<size_t>(std::distance(begin(entries), end(entries)));
  }

  TempDirectory directory_;
  snapshot::SnapshotDirectory snapshots_;
  std::optional<Error> verdict_;
  std::mutex mutex_;
  std::map<std::string, std::vector<std::string>> published_;
  std::atomic<uint64_t> now_{kNanosPerHour};
  std::unique_ptr<Uploads> uploads_;
  const std::string text_ = "what is uploaded";
};

TEST_F(UploadsTest, PiecesInOrderBecomeTheWhole) {
  EXPECT_EQ(send(text_, 0, 5)->offset, 5u);
  EXPECT_EQ(send(text_, 5, 1)->offset, 6u);
  EXPECT_TRUE(published_.empty());
  auto last = send(text_, 6, 100);
  EXPECT_TRUE(last->stored);
  EXPECT_EQ(last->offset, text_.size());
  EXPECT_EQ(published_[sha256(text_).hex()], std::vector{text_});
  EXPECT_EQ(uploads_->under_way(), 0u);
  EXPECT_EQ(uploads_->draft_bytes(), 0u);
  EXPECT_EQ(drafts(), 0u);
}

TEST_F(UploadsTest, AnotherOffsetIsAnsweredWithTheOneThatIsDue) {
  auto early = send(text_, 5, 5);
  EXPECT_TRUE(early->conflict);
  EXPECT_EQ(early->offset, 0u);
  EXPECT_EQ(uploads_->under_way(), 0u) << "nothing begins by that";
  (void)send(text_, 0, 5);
  for (uint64_t wrong : {0, 4, 6}) {
    auto reply = send(text_, wrong, 2);
    EXPECT_TRUE(reply->conflict);
    EXPECT_EQ(reply->offset, 5u);
  }
  auto asked = uploads_->take(piece(text_, 0, text_.size()), "");
  EXPECT_FALSE(asked->conflict);
  EXPECT_EQ(asked->offset, 5u);
}

TEST_F(UploadsTest, ContentThatIsNotItsNameIsThrownAway) {
  UploadPiece lie = piece(text_, 0, 5);
  auto refused = uploads_->take(lie, "other");
  EXPECT_EQ(refused.error().code, ErrorCode::kInvalid);
  EXPECT_TRUE(published_.empty());
  EXPECT_EQ(drafts(), 0u);
  EXPECT_TRUE(send(text_, 0, 100)->stored) << "the next one begins anew";
}

TEST_F(UploadsTest, WhatThePublisherRefusesIsThrownAwayToo) {
  verdict_ = corrupt("damaged");
  EXPECT_EQ(send(text_, 0, 100).error().message, "damaged");
  EXPECT_EQ(drafts(), 0u);
  EXPECT_EQ(uploads_->under_way(), 0u);
}

TEST_F(UploadsTest, APieceBeyondItsTotalIsRefused) {
  EXPECT_EQ(uploads_->take(piece(text_, 0, 3), "four").error().code, ErrorCode::kInvalid);
  EXPECT_TRUE(published_.empty());
}

TEST_F(UploadsTest, AnotherTotalIsAnotherUpload) {
  EXPECT_EQ(uploads_->take(piece(text_, 0, 1'000'000), "a stranger's lie")->offset, 16u);
  EXPECT_TRUE(send(text_, 0, 100)->stored);
  EXPECT_EQ(uploads_->under_way(), 1u);
}

TEST_F(UploadsTest, IdleOnesAreAbandoned) {
  (void)send(text_, 0, 5);
  now_ += kNanosPerHour;
  (void)send("something else", 0, 5);
  uploads_->end_idle();
  EXPECT_EQ(uploads_->under_way(), 2u);
  now_ += 1;
  uploads_->end_idle();
  EXPECT_EQ(uploads_->under_way(), 1u);
  EXPECT_EQ(drafts(), 1u);
  EXPECT_TRUE(send(text_, 5, 5)->conflict);
}

TEST_F(UploadsTest, TooManyAreRefusedUnlessOneHasStopped) {
  restart({.most_uploads = 2});
  (void)send("first of all", 0, 1);
  (void)send("second of all", 0, 1);
  EXPECT_EQ(send(text_, 0, 5).error().code, ErrorCode::kUnavailable);
  now_ += kNanosPerMinute - 1;
  (void)send("second of all", 1, 1);
  now_ += 1;
  EXPECT_EQ(send(text_, 0, 5)->offset, 5u);
  EXPECT_TRUE(send("first of all", 1, 1)->conflict);
  EXPECT_EQ(send("second of all", 2, 1)->offset, 3u);
}

TEST_F(UploadsTest, DraftsHaveABudget) {
  restart({.most_draft_bytes = 10});
  EXPECT_EQ(send(text_, 0, 8)->offset, 8u);
  EXPECT_EQ(send("another content", 0, 3).error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(send("another content", 0, 2)->offset, 2u);
}

TEST_F(UploadsTest, NothingIsLeftAtTheEnd) {
  (void)send(text_, 0, 5);
  EXPECT_EQ(drafts(), 1u);
  uploads_.reset();
  EXPECT_EQ(drafts(), 0u);
}

// Several who send the same contents, at once, each ready to be told that another piece is due.
TEST_F(UploadsTest, ManyWhoSendTheSameSettle) {
  std::vector<std::string> contents;
  for (int n = 0; n < 4; ++n) contents.push_back(std::string(20'000, static_cast<char>('a' + n)));
  std::atomic<int> faults{0};
  auto sender = [&](uint64_t seed) {
    std::mt19937_64 random(seed);
    for (const std::string& content : contents) {
      uint64_t due = 0;
      for (int turn = 0; turn < 100'000; ++turn) {
        {
          std::lock_guard lock(mutex_);
          if (published_.contains(sha256(content).hex())) break;
        }
        auto reply = send(content, due, 1 + random() % 3000);
        if (!reply && reply.error().code != ErrorCode::kUnavailable) ++faults;
        if (reply) due = reply->stored ? 0 : reply->offset;
      }
    }
  };
  std::vector<std::thread> threads;
  for (uint64_t n = 0; n < 4; ++n) threads.emplace_back(sender, n);
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(faults, 0);
  EXPECT_EQ(published_.size(), contents.size());
  for (const std::string& content : contents) {
    for (const std::string& whole : published_[sha256(content).hex()]) EXPECT_EQ(whole, content);
  }
}

}  // namespace
}  // namespace fathom::query

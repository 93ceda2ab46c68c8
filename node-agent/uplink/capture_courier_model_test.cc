#include <gtest/gtest.h>

#include <random>

#include "ingest/limits.h"
#include "node-agent/uplink/testing/capture_courier_fixture.h"

namespace fathom::agent {
namespace {

using testing::CaptureCourierTest;
using testing::kMilli;

// A model of a collector: it accepts parts in order, within the window, and gives each capture a random answer at a
// random time. Streams end at any moment.
class CaptureCourierModel : public CaptureCourierTest, public ::testing::WithParamInterface<uint32_t> {
 protected:
  struct Upload {
    std::string hash;
    std::string received;
    uint64_t size = 0;
    uint64_t taken = 0;
    bool refers = false;
  };
  // Each content is shared by three captures.
  static uint8_t content_number(uint8_t number) { return static_cast<uint8_t>(number - number % 3 + 1); }
  void send_next() {
    const auto number = static_cast<uint8_t>(sizes_.size() + 1);
    if (number % 3 == 0 || sizes_.empty()) {
      shared_ = capture(content_number(number), 1 + random_() % (random_() % 4 == 0 ? 5 * kPart : 3000));
    }
    if (courier_->memory_bytes() + shared_.content->size() > (64u << 20)) return;
    sizes_[number] = shared_.content->size();
    shared_.can_wait = random_() % 2 == 0;
    send_sharing(number, shared_);
  }
  void read_what_was_sent() {
    for (; begins_read_ < link_->begins.size(); ++begins_read_) {
      auto id = static_cast<uint8_t>(link_->begins[begins_read_].capture_id()[0]);
      ASSERT_FALSE(uploads_.contains(id)) << "begun twice";
      const auto& begin = link_->begins[begins_read_];
      Upload& upload = uploads_[id];
      upload.hash = begin.sha256();
      upload.size = begin.size_bytes();
      upload.refers = begin.content_is_stored();
      ASSERT_LE(uploads_.size(), ingest::kMostCapturesUnderWay);
    }
    for (; parts_read_ < link_->parts.size(); ++parts_read_) take(link_->parts[parts_read_]);
  }
  void take(const testing::wire::CapturePart& part) {
    auto id = static_cast<uint8_t>(part.capture_id()[0]);
    if (!uploads_.contains(id)) return;  // already answered
    Upload& upload = uploads_[id];
    ASSERT_FALSE(upload.refers) << "a capture that refers to a stored content has no parts";
    ASSERT_EQ(part.offset(), upload.received.size());
    upload.received += part.content();
    ASSERT_LE(upload.received.size(), upload.size);
    uint64_t under_way = 0;
    for (const auto& [other, each] : uploads_) under_way += each.received.size() - each.taken;
    ASSERT_LE(under_way, kWindow);
  }
  void answer_one() {
    if (uploads_.empty()) return;
    auto at = std::next(uploads_.begin(), static_cast<ptrdiff_t>(random_() % uploads_.size()));
    auto [id, upload] = *at;
    if (random_() % 20 == 0) contents_.clear();  // as retention does
    if (upload.refers) return answer_referring(at);
    uint32_t mood = random_() % 10;
    if (mood == 0 || (mood > 6 && upload.received.size() == upload.size)) {
      uploads_.erase(at);
      if (mood > 6) stored_[id] = contents_[upload.hash] = upload.received;
      say(id, mood == 0 ? State::kRetry : State::kDurable, 0, random_() % 50 * kMilli);
    } else {
      at->second.taken = upload.received.size();
      say(id, State::kTaken, upload.received.size());
    }
  }
  void answer_referring(std::map<uint8_t, Upload>::iterator at) {
    const auto [id, upload] = *at;
    const auto content = contents_.find(upload.hash);
    uploads_.erase(at);
    if (content != contents_.end()) stored_[id] = content->second;
    say(id, content == contents_.end() ? State::kRetry : State::kDurable);
  }
  void reopen() {
    close();
    uploads_.clear();
    begins_read_ = parts_read_ = 0;
    open(kWindow);
  }

  static constexpr uint64_t kWindow = 3 * kPart;
  std::mt19937 random_{GetParam()};
  std::map<uint8_t, Upload> uploads_;
  std::map<uint8_t, std::string> stored_;
  std::map<std::string, std::string> contents_;  // by hash
  std::map<uint8_t, size_t> sizes_;
  OutgoingCapture shared_;
  size_t begins_read_ = 0, parts_read_ = 0;
};

TEST_P(CaptureCourierModel, EveryCaptureIsStoredWhole) {
  make();
  open(kWindow);
  for (int step = 0; step < 3000 || stored_.size() < sizes_.size(); ++step) {
    ASSERT_LT(step, 100'000) << "seed " << GetParam();
    uint32_t what = random_() % 100;
    if (what < 3 && sizes_.size() < 60) {
      send_next();
    } else if (what < 4 && step < 3000) {
      reopen();
    } else if (what < 60) {
      answer_one();
    }
    world_.now += random_() % 5 * kMilli;
    pump();
    read_what_was_sent();
    if (HasFatalFailure()) return;
  }
  world_.run();
  for (const auto& [number, size] : sizes_) {
    EXPECT_TRUE(stored_[number] == content_of(content_number(number), size))
        << "seed " << GetParam() << " capture " << int{number};
    EXPECT_EQ(fates_[number], Fates{CaptureFate::kDurable});
  }
  EXPECT_TRUE(courier_->idle());
  EXPECT_EQ(courier_->memory_bytes(), 0u);
}

INSTANTIATE_TEST_SUITE_P(Seeds, CaptureCourierModel, ::testing::Range(0u, 20u));

}  // namespace
}  // namespace fathom::agent

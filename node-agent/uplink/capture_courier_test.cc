#include "node-agent/uplink/capture_courier.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "base/metrics.h"
#include "ingest/limits.h"
#include "node-agent/testing/nano.h"
#include "node-agent/uplink/testing/fake_world.h"

namespace fathom::agent {
namespace {

using testing::FakeLink;
using testing::FakeWorld;
using testing::kMilli;
using State = ingest::CaptureProgress::State;
using Fates = std::vector<CaptureFate>;

constexpr uint64_t kPart = CaptureCourier::kPartBytes;

class CaptureCourierTest : public ::testing::Test {
 protected:
  void make(uint64_t memory_bytes = 64 << 20) {
    CaptureCourier::Surroundings all;
    all.now_nano = [this] { return world_.now; };
    all.mark = [this] { return LocalInstant{world_.now, world_.now, 0}; };
    all.offset = [this](const LocalInstant&) { return clock_; };
    all.post = [this](std::function<void()> work) { world_.posted.push_back(std::move(work)); };
    courier_ = std::make_unique<CaptureCourier>(memory_bytes, std::move(all));
  }
  static std::string content_of(uint8_t number, size_t size) {
    std::string content(size, static_cast<char>(number));
    for (size_t i = 0; i < size; i += 1000) content[i] = static_cast<char>(i / 1000);
    return content;
  }
  static OutgoingCapture capture(uint8_t number, size_t size) {
    OutgoingCapture made;
    made.begin.id.bytes[0] = number;
    made.content = std::make_shared<const std::string>(content_of(number, size));
    return made;
  }
  void send(uint8_t number, size_t size) {
    auto sending = std::make_shared<bool>(true);
    courier_->send(capture(number, size), [this, number, sending](CaptureFate fate) {
      EXPECT_FALSE(*sending) << "never from within send()";
      fates_[number].push_back(fate);
    });
    *sending = false;
    pump();
  }
  void open(uint64_t window = 8 << 20, uint64_t most = 64 << 20) {
    link_ = std::make_unique<FakeLink>(LinkEvents{}, world_);
    courier_->welcomed({.max_capture_bytes = most, .max_capture_bytes_under_way = window});
    pump();
  }
  void close() {
    courier_->link_ended();
    link_.reset();
  }
  void pump() {
    if (link_) courier_->pump(*link_);
  }
  void say(uint8_t number, State state, uint64_t taken = 0, uint64_t retry_after = 0) {
    ingest::CaptureProgress progress{.state = state, .taken_bytes = taken, .retry_after_nano = retry_after};
    progress.id.bytes[0] = number;
    courier_->heard(progress);
    pump();
  }
  std::vector<int> begun() const {
    std::vector<int> numbers;
    for (const auto& begin : link_->begins) numbers.push_back(static_cast<uint8_t>(begin.capture_id()[0]));
    return numbers;
  }
  uint64_t sent_bytes() const {
    uint64_t bytes = 0;
    for (const auto& part : link_->parts) bytes += part.content().size();
    return bytes;
  }
  Fates fates(uint8_t number) {
    world_.run();
    return fates_[number];
  }
  uint64_t lost(const std::string& name) const {
    for (const auto& [reason, count] : courier_->losses()) {
      if (reason == name) return count;
    }
    return 0;
  }

  FakeWorld world_;
  std::optional<ClockOffset> clock_;
  std::unique_ptr<FakeLink> link_;
  std::map<uint8_t, Fates> fates_;
  std::unique_ptr<CaptureCourier> courier_;
};

TEST_F(CaptureCourierTest, SendsPartsUntilItIsDurable) {
  make();
  open();
  clock_ = ClockOffset{-5, 7};
  send(1, 2 * kPart + 100);
  ASSERT_EQ(begun(), std::vector<int>{1});
  EXPECT_EQ(link_->begins[0].clock().offset_nano(), -5);
  EXPECT_EQ(link_->begins[0].size_bytes(), 2 * kPart + 100);
  ASSERT_EQ(link_->parts.size(), 3u);
  std::string content;
  for (const auto& part : link_->parts) {
    EXPECT_EQ(part.offset(), content.size());
    content += part.content();
  }
  EXPECT_EQ(content, content_of(1, 2 * kPart + 100));
  EXPECT_TRUE(fates(1).empty());
  EXPECT_EQ(courier_->memory_bytes(), content.size());
  say(1, State::kTaken, content.size());
  EXPECT_TRUE(fates(1).empty()) << "taken is not durable";
  say(1, State::kDurable);
  say(1, State::kDurable);
  EXPECT_EQ(fates(1), Fates{CaptureFate::kDurable}) << "once";
  EXPECT_EQ(courier_->memory_bytes(), 0u);
  EXPECT_TRUE(courier_->idle());
}

TEST_F(CaptureCourierTest, KeepsToTheWindow) {
  make();
  open(3 * kPart + 5);
  send(1, 5 * kPart);
  EXPECT_EQ(sent_bytes(), 3 * kPart);
  say(1, State::kTaken, kPart - 10);
  EXPECT_EQ(sent_bytes(), 3 * kPart) << "a whole part does not fit yet";
  say(1, State::kTaken, kPart);
  EXPECT_EQ(sent_bytes(), 4 * kPart);
  say(1, State::kTaken, kPart / 2);
  EXPECT_EQ(sent_bytes(), 4 * kPart) << "what was taken stays taken";
  say(1, State::kTaken, 100 * kPart);
  EXPECT_EQ(sent_bytes(), 5 * kPart);
  say(1, State::kTaken, UINT64_MAX);
  send(2, 3 * kPart);
  EXPECT_EQ(sent_bytes(), 8 * kPart) << "nothing is counted twice";
}

TEST_F(CaptureCourierTest, ASmallWindowMakesSmallParts) {
  make();
  open(1000);
  send(1, 2500);
  EXPECT_EQ(sent_bytes(), 1000u);
  say(1, State::kTaken, 1000);
  say(1, State::kTaken, 2000);
  EXPECT_EQ(sent_bytes(), 2500u);
  make();
  open(0);
  send(2, 10);
  EXPECT_EQ(sent_bytes(), 0u) << "such a collector gets nothing";
}

TEST_F(CaptureCourierTest, TheNextOneBeginsWhenThePartsOfTheFirstAreSent) {
  make();
  open(2 * kPart);
  send(1, 3 * kPart);
  send(2, 100);
  EXPECT_EQ(begun(), std::vector<int>{1});
  say(1, State::kTaken, kPart);
  EXPECT_EQ(begun(), std::vector<int>{1}) << "the window is full";
  say(1, State::kTaken, 2 * kPart);
  EXPECT_EQ(begun(), (std::vector<int>{1, 2})) << "though the first has no answer yet";
  say(2, State::kDurable);
  EXPECT_EQ(fates(2), Fates{CaptureFate::kDurable});
  EXPECT_TRUE(fates(1).empty());
}

TEST_F(CaptureCourierTest, NotTooManyAreUnderWay) {
  make();
  open();
  for (uint8_t n = 1; n <= 20; ++n) send(n, 10);
  EXPECT_LE(begun().size(), ingest::kMostCapturesUnderWay);
  size_t before = begun().size();
  say(1, State::kDurable);
  EXPECT_EQ(begun().size(), before + 1);
}

TEST_F(CaptureCourierTest, ANewStreamBeginsAgainWhatWasNotDurable) {
  make();
  clock_ = ClockOffset{1, 1};
  send(1, 10);
  send(2, 3 * kPart);
  send(3, 10);
  open();
  clock_ = ClockOffset{2, 2};
  say(2, State::kTaken, kPart);
  say(1, State::kDurable);
  close();
  open();
  EXPECT_EQ(begun(), (std::vector<int>{2, 3}));
  EXPECT_EQ(link_->parts.at(0).offset(), 0u);
  EXPECT_EQ(sent_bytes(), 3 * kPart + 10);
  EXPECT_EQ(link_->begins[0].clock().offset_nano(), 1) << "the offset that it was first begun with";
  say(2, State::kDurable);
  say(3, State::kDurable);
  EXPECT_EQ(fates(2), Fates{CaptureFate::kDurable});
  EXPECT_EQ(fates(3), Fates{CaptureFate::kDurable});
}

TEST_F(CaptureCourierTest, RetryWaitsAndBeginsAgain) {
  make();
  open();
  send(1, 2 * kPart);
  send(2, 10);
  say(1, State::kRetry, 0, 100 * kMilli);
  send(3, 10);
  EXPECT_EQ(begun(), (std::vector<int>{1, 2}));
  EXPECT_TRUE(fates(1).empty());
  world_.now += 99 * kMilli;
  pump();
  EXPECT_EQ(begun().size(), 2u);
  world_.now += 27 * kMilli;
  pump();
  EXPECT_EQ(begun(), (std::vector<int>{1, 2, 1, 3}));
  say(1, State::kTaken, 3 * kPart);
  say(1, State::kDurable);
  EXPECT_EQ(fates(1), Fates{CaptureFate::kDurable});
}

TEST_F(CaptureCourierTest, ARetryWithoutATimeWaitsAMoment) {
  make();
  open();
  send(1, 10);
  say(1, State::kRetry);
  EXPECT_EQ(begun().size(), 1u) << "or it would be asked again at once, for ever";
  world_.now += 13 * kMilli;
  pump();
  EXPECT_EQ(begun().size(), 2u);
  say(1, State::kRetry, 0, UINT64_MAX);
  world_.now += 40'000 * kMilli;
  pump();
  EXPECT_EQ(begun().size(), 3u) << "nor never";
}

TEST_F(CaptureCourierTest, RefusedIsDroppedAndCounted) {
  make();
  open();
  send(1, 3 * kPart);
  say(1, State::kRefused);
  EXPECT_EQ(fates(1), Fates{CaptureFate::kRefused});
  EXPECT_EQ(lost("capture_refused"), 1u);
  EXPECT_TRUE(courier_->idle());
  EXPECT_EQ(courier_->memory_bytes(), 0u);
  send(2, 30 * kPart);
  EXPECT_EQ(sent_bytes(), 3 * kPart + 30 * kPart) << "the window is free again";
}

TEST_F(CaptureCourierTest, MemoryIsBounded) {
  make(1000);
  send(1, 600);
  send(2, 401);
  send(3, 400);
  send(4, 1);
  send(5, 2000);
  EXPECT_TRUE(fates(1).empty());
  EXPECT_EQ(fates(2), Fates{CaptureFate::kNoRoom});
  EXPECT_TRUE(fates(3).empty());
  EXPECT_EQ(fates(4), Fates{CaptureFate::kNoRoom});
  EXPECT_EQ(fates(5), Fates{CaptureFate::kNoRoom});
  EXPECT_EQ(lost("capture_no_room"), 3u);
  open();
  say(1, State::kDurable);
  send(6, 600);
  EXPECT_TRUE(fates(6).empty());
}

TEST_F(CaptureCourierTest, AnOlderCollectorTakesNone) {
  make();
  send(1, 10);
  EXPECT_TRUE(fates(1).empty()) << "that is not known yet";
  open(0, 0);
  EXPECT_EQ(fates(1), Fates{CaptureFate::kNotTaken});
  send(2, 10);
  EXPECT_EQ(fates(2), Fates{CaptureFate::kNotTaken});
  EXPECT_TRUE(begun().empty());
  EXPECT_EQ(lost("capture_not_taken"), 2u);
  close();
  send(3, 10);
  open();
  say(3, State::kDurable);
  EXPECT_EQ(fates(3), Fates{CaptureFate::kDurable}) << "by a newer one";
}

TEST_F(CaptureCourierTest, WhatNoCollectorWouldTakeIsRefusedHere) {
  make();
  open(8 << 20, 1000);
  send(1, 1001);
  send(2, 0);
  EXPECT_EQ(fates(1), Fates{CaptureFate::kRefused});
  EXPECT_EQ(fates(2), Fates{CaptureFate::kRefused});
  send(3, 10);
  send(3, 10);
  EXPECT_EQ(begun(), std::vector<int>{3});
  EXPECT_EQ(fates(3), Fates{CaptureFate::kRefused}) << "an id that is under way";
  close();
  send(4, 2000);
  open(8 << 20, 1000);
  EXPECT_EQ(fates(4), Fates{CaptureFate::kRefused});
  EXPECT_EQ(lost("capture_refused"), 4u);
}

TEST_F(CaptureCourierTest, WhatIsGivenUpIsCountedAndNotTold) {
  make();
  open(kPart);
  send(1, 2 * kPart);
  send(2, 10);
  courier_->give_up();
  EXPECT_TRUE(courier_->idle());
  EXPECT_EQ(lost("capture_unsent"), 2u);
  EXPECT_TRUE(fates(1).empty());
  EXPECT_EQ(courier_->memory_bytes(), 0u);
}

// A collector by the book, with moods: it takes parts in order, within the window, and answers each capture now and
// then anyhow. Streams end at any moment.
class CaptureCourierModel : public CaptureCourierTest, public ::testing::WithParamInterface<uint32_t> {
 protected:
  struct Upload {
    std::string received;
    uint64_t size = 0;
    uint64_t taken = 0;
  };
  void read_what_was_sent() {
    for (; begins_read_ < link_->begins.size(); ++begins_read_) {
      auto id = static_cast<uint8_t>(link_->begins[begins_read_].capture_id()[0]);
      ASSERT_FALSE(uploads_.contains(id)) << "begun twice";
      uploads_[id].size = link_->begins[begins_read_].size_bytes();
      ASSERT_LE(uploads_.size(), ingest::kMostCapturesUnderWay);
    }
    for (; parts_read_ < link_->parts.size(); ++parts_read_) take(link_->parts[parts_read_]);
  }
  void take(const testing::wire::CapturePart& part) {
    auto id = static_cast<uint8_t>(part.capture_id()[0]);
    if (!uploads_.contains(id)) return;  // answered meanwhile
    Upload& upload = uploads_[id];
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
    uint32_t mood = random_() % 10;
    if (mood == 0 || (mood > 6 && upload.received.size() == upload.size)) {
      uploads_.erase(at);
      if (mood > 6) stored_[id] = upload.received;
      say(id, mood == 0 ? State::kRetry : State::kDurable, 0, random_() % 50 * kMilli);
    } else {
      at->second.taken = upload.received.size();
      say(id, State::kTaken, upload.received.size());
    }
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
  size_t begins_read_ = 0, parts_read_ = 0;
};

TEST_P(CaptureCourierModel, EveryCaptureIsStoredWhole) {
  make();
  open(kWindow);
  std::map<uint8_t, size_t> sizes;
  for (int step = 0; step < 3000 || stored_.size() < sizes.size(); ++step) {
    ASSERT_LT(step, 100'000) << "seed " << GetParam();
    uint32_t what = random_() % 100;
    if (what < 3 && sizes.size() < 60) {
      auto number = static_cast<uint8_t>(sizes.size() + 1);
      size_t size = 1 + random_() % (random_() % 4 == 0 ? 5 * kPart : 3000);
      if (courier_->memory_bytes() + size > (64u << 20)) continue;
      sizes[number] = size;
      send(number, size);
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
  for (const auto& [number, size] : sizes) {
    EXPECT_TRUE(stored_[number] == content_of(number, size)) << "seed " << GetParam() << " capture " << int{number};
    EXPECT_EQ(fates_[number], Fates{CaptureFate::kDurable});
  }
  EXPECT_TRUE(courier_->idle());
  EXPECT_EQ(courier_->memory_bytes(), 0u);
}

INSTANTIATE_TEST_SUITE_P(Seeds, CaptureCourierModel, ::testing::Range(0u, 20u));

}  // namespace
}  // namespace fathom::agent

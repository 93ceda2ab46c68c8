#include "node-agent/uplink/capture_courier.h"

#include <gtest/gtest.h>

#include "ingest/limits.h"
#include "node-agent/uplink/testing/capture_courier_fixture.h"

namespace fathom::agent {
namespace {

using testing::CaptureCourierTest;
using testing::kMilli;

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

TEST_F(CaptureCourierTest, TheOffsetIsThatOfWhenItWasMade) {
  make();
  OutgoingCapture made = capture(1, 10);
  made.made = {500, 400, 3};
  world_.now += 60'000 * kMilli;
  send(std::move(made));
  open();
  EXPECT_EQ(asked_of_.real_nano, 500u);
  EXPECT_EQ(asked_of_.boot_nano, 400u);
  EXPECT_EQ(asked_of_.uncertain_nano, 3u);
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

TEST_F(CaptureCourierTest, WhatCanWaitGoesBehindWhatCannot) {
  make();
  open(2 * kPart);
  send_that_can_wait(1, 3 * kPart);
  for (uint8_t number : {2, 3}) send_that_can_wait(number, 10);
  for (uint8_t number : {4, 5}) send(number, 10);
  EXPECT_EQ(begun(), std::vector<int>{1}) << "the window is full";
  say(1, State::kTaken, 2 * kPart);
  EXPECT_EQ(begun(), (std::vector<int>{1, 4, 5, 2}));
  say(4, State::kDurable);
  EXPECT_EQ(begun(), (std::vector<int>{1, 4, 5, 2, 3}));
}

TEST_F(CaptureCourierTest, WhatIsBegunAgainGoesBeforeOthersOfItsKind) {
  make();
  open(2 * kPart);
  send_that_can_wait(1, 3 * kPart);
  send_that_can_wait(2, 10);
  send(3, 10);
  send(4, 10);
  close();
  open(8 << 20);
  EXPECT_EQ(begun(), (std::vector<int>{3, 4, 1, 2}));
  close();
  send(5, 10);
  open(8 << 20);
  EXPECT_EQ(begun(), (std::vector<int>{3, 4, 5, 1})) << "and four are under way";
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

TEST_F(CaptureCourierTest, AContentThatSeveralShareIsSentAndChargedOnce) {
  make(1000);
  open();
  const OutgoingCapture shared = capture(1, 600);
  for (uint8_t number : {1, 2, 3}) send_sharing(number, shared);
  send(4, 400);
  EXPECT_EQ(courier_->memory_bytes(), 1000u);
  EXPECT_EQ(begun(), (std::vector<int>{1, 4})) << "two wait for the content; the next one does not wait";
  say(1, State::kTaken, 600);
  EXPECT_EQ(begun().size(), 2u) << "it is not durable yet";
  say(1, State::kDurable);
  EXPECT_EQ(begun(), (std::vector<int>{1, 4, 2, 3}));
  EXPECT_FALSE(link_->begins[0].content_is_stored());
  EXPECT_TRUE(link_->begins[2].content_is_stored());
  EXPECT_EQ(link_->begins[2].size_bytes(), 600u);
  EXPECT_EQ(sent_bytes(), 1000u) << "once";
  EXPECT_EQ(courier_->memory_bytes(), 1000u);
  say(2, State::kDurable);
  say(3, State::kDurable);
  EXPECT_EQ(courier_->memory_bytes(), 400u);
  EXPECT_EQ(fates(3), Fates{CaptureFate::kDurable});
  send_sharing(5, shared);
  EXPECT_TRUE(link_->begins.back().content_is_stored()) << "also later, while the content has another owner";
  say(4, State::kDurable);
  say(5, State::kDurable);
  EXPECT_TRUE(courier_->idle());
  EXPECT_EQ(courier_->memory_bytes(), 0u);
}

TEST_F(CaptureCourierTest, AContentThatTheCollectorLostIsSentAgain) {
  make();
  open();
  const OutgoingCapture shared = capture(1, 600);
  for (uint8_t number : {1, 2, 3}) send_sharing(number, shared);
  say(1, State::kDurable);
  say(2, State::kRetry);
  say(3, State::kRetry);
  world_.now += 20 * kMilli;
  pump();
  ASSERT_EQ(begun(), (std::vector<int>{1, 2, 3, 3}));
  EXPECT_FALSE(link_->begins[3].content_is_stored());
  EXPECT_EQ(sent_bytes(), 1200u);
  say(3, State::kDurable);
  EXPECT_EQ(begun(), (std::vector<int>{1, 2, 3, 3, 2}));
  EXPECT_TRUE(link_->begins[4].content_is_stored());
  say(2, State::kDurable);
  EXPECT_EQ(fates(2), Fates{CaptureFate::kDurable});
  EXPECT_TRUE(courier_->idle());
}

TEST_F(CaptureCourierTest, AnOlderCollectorGetsEachWhole) {
  make();
  open(8 << 20, 64 << 20, /*shares=*/false);
  const OutgoingCapture shared = capture(1, 600);
  send_sharing(1, shared);
  send_sharing(2, shared);
  EXPECT_EQ(begun(), (std::vector<int>{1, 2}));
  EXPECT_EQ(sent_bytes(), 1200u);
  EXPECT_EQ(courier_->memory_bytes(), 600u);
  say(1, State::kDurable);
  say(2, State::kDurable);
  EXPECT_EQ(courier_->memory_bytes(), 0u);
}

TEST_F(CaptureCourierTest, SoManyWait) {
  make();
  const OutgoingCapture shared = capture(1, 10);
  Fates given;
  for (size_t i = 0; i < CaptureCourier::kMostCaptures + 1; ++i) {
    OutgoingCapture one = shared;
    one.begin.id.bytes[1] = static_cast<uint8_t>(i >> 8);
    one.begin.id.bytes[2] = static_cast<uint8_t>(i);
    courier_->send(std::move(one), [&](CaptureFate fate) { given.push_back(fate); });
  }
  world_.run();
  EXPECT_EQ(given, Fates{CaptureFate::kNoRoom});
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

}  // namespace
}  // namespace fathom::agent

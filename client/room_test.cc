// What a span holds: texts of any size, borrowed memory, and what does not fit.
#include <fathom/trace.h>
#include <gtest/gtest.h>

#include <functional>

#include "client/process.h"
#include "client/span_state.h"
#include "client/testing/own_spans.h"

namespace fathom::client {
namespace {

using pool::ItemTag;
using pool::ItemType;
using testing::ReadSpan;
using Room = testing::OwnSpans;

TEST_F(Room, TextsOfEverySizeArriveWhole) {
  for (size_t size = 0; size <= 600; size++) {
    const std::string name(size % 77, 'n'), key(1 + size % 41, 'k'), value(size, static_cast<char>('a' + size % 26));
    {
      Span span(name);
      span.set(key, value).set("after", 1);
    }
    const ReadSpan span = take_one();
    EXPECT_EQ(span.name, name);
    EXPECT_EQ(span.attribute(key), value);
    EXPECT_EQ(span.attribute("after"), "1");
  }
}

TEST_F(Room, ALongSpanBorrowsAndReturnsMemory) {
  {
    Span span(std::string(1000, 'n'));
    for (int i = 0; i < 100; i++) span.set("key" + std::to_string(i), std::string(20, static_cast<char>('a' + i % 26)));
    for (int i = 0; i < 100; i += 2) span.set("key" + std::to_string(i), i);
    span.rename("short");
    EXPECT_NE(live().slabs.taken.load(), 0U);
  }
  EXPECT_EQ(live().slabs.taken.load(), 0U);
  const ReadSpan span = take_one();
  EXPECT_EQ(span.name, "short");
  EXPECT_EQ(span.items.size(), 100U);
  EXPECT_EQ(span.attribute("key98"), "98");
  EXPECT_EQ(span.attribute("key99"), std::string(20, 'v'));
  EXPECT_EQ(span.dropped_attributes, 0);
}

// With texts for which there is no rule but the record's end: those of a status.
void fill_to_the_end(Span& span) {
  span.set("half", std::string(4096, 'h')).error(std::string(4096, 's'));
  ASSERT_EQ(state_of(span.raw()).bytes, pool::kMostRecordBytes);
}

TEST_F(Room, WhatIsTooMuchIsCutOrDroppedAndCounted) {
  const uint64_t cut = lost(pool::kCutValues), attributes = lost(pool::kLostAttributes),
                 details = lost(pool::kLostDetails);
  {
    Span span("x");
    fill_to_the_end(span);
    span.set("more", 1).set("text", "text").set(std::string(9000, 'k'), 1);
    span.event("no room").detail("a", 1);
  }
  const ReadSpan span = take_one();
  EXPECT_EQ(span.attribute("half").size(), 4096U);
  EXPECT_EQ(span.find(ItemTag::kStatusMessage, "")->type, ItemType::kCut);
  EXPECT_EQ(span.attribute("more"), "?");
  EXPECT_EQ(span.dropped_attributes, 3);
  EXPECT_EQ(span.dropped_events, 1);
  EXPECT_EQ(lost(pool::kCutValues), cut + 1) << "the status; what is dropped is not cut as well";
  EXPECT_EQ(lost(pool::kLostAttributes), attributes + 3);
  EXPECT_EQ(lost(pool::kLostDetails), details + 2);
}

TEST_F(Room, ALongTextLeavesRoomForWhatComesLater) {
  const uint64_t cut = lost(pool::kCutValues), details = lost(pool::kLostDetails);
  {
    Span span("x");
    span.set("request", std::string(20'000, 'q')).set("answer", std::string(20'000, 'a'));
    span.event(std::string(20'000, 'e')).detail("why", std::string(20'000, 'w'));
    span.event("late").detail("attempt", 3).set("items", 3).set("tenant", "acme").error("card refused");
  }
  const ReadSpan span = take_one();
  EXPECT_EQ(span.attribute("request"), std::string(4096, 'q'));
  EXPECT_EQ(span.find(ItemTag::kAttribute, "request")->type, ItemType::kCut);
  EXPECT_GT(span.attribute("answer").size(), 2500U);
  ASSERT_EQ(span.items.size(), 9U);
  EXPECT_EQ(span.items[2].key, std::string(256, 'e'));
  EXPECT_EQ(span.items[3].value, std::string(256, 'w'));
  EXPECT_EQ(value_text(span.items[5]), "3");
  EXPECT_EQ(span.attribute("items"), "3");
  EXPECT_EQ(span.attribute("tenant"), "acme");
  EXPECT_EQ(value_text(*span.find(ItemTag::kStatusMessage, "")), "card refused");
  EXPECT_EQ(lost(pool::kCutValues), cut + 4);
  EXPECT_EQ(lost(pool::kLostDetails), details);
}

TEST_F(Room, ATextHasFourKibibytes) {
  const uint64_t cut = lost(pool::kCutValues);
  for (size_t size : {4096U, 4097U}) {
    {
      Span span("x");
      span.set("k", std::string(size, 'x'));
    }
    const ReadSpan span = take_one();
    EXPECT_EQ(span.attribute("k").size(), 4096U);
    EXPECT_EQ(span.find(ItemTag::kAttribute, "k")->type, size == 4096 ? ItemType::kString : ItemType::kCut);
    EXPECT_EQ(lost(pool::kCutValues), cut + (size - 4096));
  }
}

TEST_F(Room, CutsLeaveWholeCharacters) {
  for (size_t shift = 0; shift < 4; shift++) {
    {
      Span span("x");
      std::string text(shift, 'a');
      for (int i = 0; i < 4000; i++) text += "\xe2\x82\xac";
      span.set("k", text);
    }
    const std::string value = take_one().attribute("k");
    ASSERT_GT(value.size(), 4000U);
    EXPECT_EQ((value.size() - shift) % 3, 0U);
  }
}

// Until nothing fits any more that is no status message.
void fill_but_for_status(Span& span, const std::function<void(int)>& more) {
  const SpanState& state = state_of(span.raw());
  for (uint32_t before = 0, i = 0; before != state.bytes; i++) {
    before = state.bytes;
    more(static_cast<int>(i));
  }
  span.set("k", true).set("i", "").event("").rename(std::string(4096, 'm'));
  EXPECT_LE(state.bytes, kSlabBytes);
  EXPECT_GT(state.bytes, kSlabBytes - 100);
}

TEST_F(Room, AFullSpanHasRoomForTheFirstPartOfItsStatus) {
  const auto other = Context::extract("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "");
  const std::function<void(Span&, int)> fillers[] = {
      [](Span& span, int i) { span.set("key" + std::to_string(i), i); },
      [](Span& span, int i) { span.set("key" + std::to_string(i), std::string(100, 't')); },
      [](Span& span, int) { span.event(std::string(50, 'e')).detail("d", 1); },
      [&](Span& span, int) { span.link(*other); },
  };
  for (const auto& filler : fillers) {
    const uint64_t cut = lost(pool::kCutValues), details = lost(pool::kLostDetails);
    uint64_t cut_before = 0, details_before = 0;
    {
      Span span("x");
      fill_but_for_status(span, [&](int i) { filler(span, i); });
      cut_before = lost(pool::kCutValues) - cut;
      details_before = lost(pool::kLostDetails) - details;
      span.error(std::string(200, 'e'));
      EXPECT_EQ(lost(pool::kCutValues), cut + cut_before);
      span.error(std::string(1000, 'e'));
    }
    const ReadSpan span = take_one();
    const auto* message = span.find(ItemTag::kStatusMessage, "");
    ASSERT_NE(message, nullptr);
    EXPECT_EQ(message->type, ItemType::kCut);
    EXPECT_GE(message->value.size(), kMessageBytes);
    EXPECT_EQ(lost(pool::kCutValues), cut + cut_before + 1);
    EXPECT_EQ(lost(pool::kLostDetails), details + details_before);
  }
}

TEST_F(Room, NamesThatAreTooLongAreCut) {
  const uint64_t cut = lost(pool::kCutValues);
  {
    Span span(std::string(10'000, 'n'));
    span.set("a", 1);
    fill_to_the_end(span);
    span.rename("short").error("").rename(std::string(5000, 'm'));
  }
  const ReadSpan span = take_one();
  EXPECT_EQ(span.name.size(), 4096U);
  EXPECT_EQ(span.name[0], 'm');
  EXPECT_EQ(span.attribute("a"), "1");
  EXPECT_EQ(lost(pool::kCutValues), cut + 4) << "the name, a half, the status, the new name";
}

TEST_F(Room, WithoutMemoryToBorrowWhatDoesNotFitIsDropped) {
  std::vector<std::unique_ptr<DetachedSpan>> greedy;
  for (uint32_t i = 0; i < kSlabs; i++) {
    greedy.push_back(std::make_unique<DetachedSpan>("greedy"));
    greedy.back()->set("v", std::string(600, 'x'));
  }
  EXPECT_EQ(~live().slabs.taken.load(), 0U);
  {
    Span span("modest");
    span.set("a", 1).set("long", std::string(600, 'x')).set("b", 2).set("empty", "").set("c", 3).set("d", 4);
    EXPECT_LE(state_of(span.raw()).bytes, kInlineBytes);
  }
  const ReadSpan span = take_one();
  EXPECT_EQ(span.attribute("a"), "1");
  EXPECT_EQ(span.find(ItemTag::kAttribute, "long")->type, ItemType::kCut);
  EXPECT_EQ(span.attribute("b"), "2") << "what was cut leaves some room";
  EXPECT_EQ(span.attribute("empty"), "");
  EXPECT_EQ(span.dropped_attributes, 1);
  greedy.clear();
  EXPECT_EQ(live().slabs.taken.load(), 0U);
  EXPECT_EQ(take().size(), kSlabs);
}

TEST_F(Room, AnEmptyTextNeedsRoomToo) {
  {
    Span span("name5");
    fill_to_the_end(span);
    span.set("user.agent", "").set("body", std::string(20'000, 'b')).event("").detail("d", "");
    EXPECT_EQ(state_of(span.raw()).bytes, pool::kMostRecordBytes);
  }
  const ReadSpan span = take_one();
  EXPECT_EQ(span.items.size(), 2U);
  EXPECT_EQ(span.dropped_attributes, 2);
  EXPECT_EQ(span.dropped_events, 1);
}

TEST_F(Room, AKeyThatLeavesNoRoomForItsEmptyTextIsDropped) {
  for (size_t size = kSlabBytes - 100; size <= pool::kMostRecordBytes + 1; size++) {
    const size_t needed = sizeof(pool::SpanRecord) + 1 + sizeof(pool::ItemHead) + size;
    {
      Span span("x");
      span.set(std::string(size, 'k'), "");
      EXPECT_LE(state_of(span.raw()).bytes, kSlabBytes);
    }
    EXPECT_EQ(take_one().dropped_attributes, needed <= kSlabBytes ? 0 : 1) << size;
  }
}

TEST_F(Room, ARecordThatThePoolCannotHaveIsALoss) {
  const uint64_t before = lost(pool::kLostPoolFull);
  DetachedSpan span("written over");
  span.set("long", std::string(1000, 'x'));
  state_of(span.raw()).bytes = pool::kMostRecordBytes + 1;
  span.end();
  EXPECT_EQ(live().slabs.taken.load(), 0U);
  EXPECT_EQ(lost(pool::kLostPoolFull), before + 1);
  EXPECT_TRUE(take().empty());
}

}  // namespace
}  // namespace fathom::client

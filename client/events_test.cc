#include <fathom/event.h>
#include <fathom/trace.h>
#include <gtest/gtest.h>

#include <set>
#include <thread>

#include "base/testing/repetitions.h"
#include "client/detail/tracepoints.h"
#include "client/process.h"
#include "client/testing/detail_reader.h"
#include "client/testing/own_process.h"

namespace fathom::client {
namespace {

using testing::DetailReader;
using testing::in_own_process;
using testing::ReadEvent;

std::vector<ReadEvent> events_called(const std::string& name) {
  DetailReader reader = DetailReader::of_this_process();
  std::vector<ReadEvent> found = reader.events(name);
  EXPECT_TRUE(reader.faults().empty()) << reader.faults()[0];
  return found;
}

enum class Color : uint8_t { kRed = 3 };

TEST(Events, HoldWhatTheyWereGiven) {
  const std::string owned = "owned";
  char own[] = "mutable";
  FATHOM_EVENT_ON("given.numbers", "i8", int8_t{-8}, "u16", uint16_t{60000}, "i32", -32, "u64", ~uint64_t{0}, "f", 0.5F,
                  "d", -2.25, "b", true, "enum", Color::kRed);
  FATHOM_EVENT_ON("given.texts", "literal", "literal", "string", owned, "view", std::string_view("view"), "mutable",
                  own, "text", (fathom_text{"text", 4}), "bytes", (fathom_bytes{"\0\1", 2}), "null",
                  static_cast<const char*>(nullptr), "none", "");
  const std::vector<ReadEvent> numbers = events_called("given.numbers"), texts = events_called("given.texts");
  ASSERT_EQ(numbers.size(), 1U);
  const ReadEvent& n = numbers[0];
  EXPECT_EQ(n["i8"] + n["u16"] + n["i32"] + n["u64"], "-860000-3218446744073709551615");
  EXPECT_EQ(n["f"] + n["d"] + n["b"] + n["enum"], "0.500000-2.25000013");
  ASSERT_EQ(texts.size(), 1U);
  const ReadEvent& t = texts[0];
  EXPECT_EQ(t["literal"] + t["string"] + t["view"] + t["mutable"] + t["text"], "literalownedviewmutabletext");
  EXPECT_EQ(t["bytes"], std::string("\0\1", 2));
  EXPECT_EQ(t["null"] + t["none"], "");
}

TEST(Events, HaveTheTimeAndTheThread) {
  uint32_t tid = 0;
  const uint64_t before = ticks() & 0xffffffffffff;
  std::thread([&] {
    tid = static_cast<uint32_t>(gettid());
    FATHOM_EVENT_ON("timed");
    FATHOM_EVENT_ON("timed");
  }).join();
  const std::vector<ReadEvent> events = events_called("timed");
  ASSERT_EQ(events.size(), 2U);
  EXPECT_GE(events[0].ticks, before);
  EXPECT_GE(events[1].ticks, events[0].ticks);
  EXPECT_LE(events[1].ticks, ticks() & 0xffffffffffff);
  EXPECT_EQ(events[0].tid, tid);
}

// Every size of a text that there is room for, and beyond.
TEST(Events, TextsOfEverySize) {
  in_own_process([] {
    std::string text;
    for (int size = 0; size < 2200; size++) {
      FATHOM_EVENT_ON("sized", "size", size, "text", text, "after", size);
      text += static_cast<char>('a' + size % 26);
    }
    uint64_t cut = 0, seen = 0;
    for (const ReadEvent& event : events_called("sized")) {
      const size_t size = event.number("size");
      EXPECT_EQ(event["after"], event["size"]);
      const bool is_cut = event["text"].size() >= 3 && event["text"].ends_with("...");
      EXPECT_EQ(event["text"], is_cut ? text.substr(0, event["text"].size() - 3) + "..." : text.substr(0, size));
      EXPECT_EQ(is_cut, size > 2032 - 10) << size;
      if (is_cut) cut++;
      seen++;
    }
    EXPECT_EQ(seen, 2200U);
    EXPECT_EQ(cut, DetailReader::of_this_process().header().losses[pool::kCutTexts].load());
  });
}

TEST(Events, BelongToTheCurrentSpan) {
  std::string outer_id, inner_id;
  FATHOM_EVENT_ON("spanned", "where", "before");
  {
    const Span outer("outer");
    outer_id = outer.context().traceparent().substr(36, 16);
    FATHOM_EVENT_ON("spanned", "where", "outer");
    FATHOM_EVENT_ON("spanned", "where", "outer");
    {
      const Span inner("inner");
      inner_id = inner.context().traceparent().substr(36, 16);
      FATHOM_EVENT_ON("spanned", "where", "inner");
    }
    { const Span silent("silent"); }
    FATHOM_EVENT_ON("spanned", "where", "outer");
  }
  FATHOM_EVENT_ON("spanned", "where", "after");
  const std::vector<ReadEvent> events = events_called("spanned");
  ASSERT_EQ(events.size(), 6U);
  for (const ReadEvent& event : events) {
    EXPECT_EQ(event.span_id, event["where"] == "outer"   ? outer_id
                             : event["where"] == "inner" ? inner_id
                                                         : "")
        << event["where"];
  }
}

// ---- on and off ----------------------------------------------------------------------------------------------------

int computed = 0;
void off_by_default() {
  FATHOM_EVENT("switched.event", "n", ++computed);
}

TEST(Tracepoints, AreSwitchedByPatterns) {
  in_own_process([] {
    off_by_default();
    EXPECT_EQ(computed, 0) << "values of what is off are not computed";
    EXPECT_TRUE(detail::switch_tracepoints("other,switched.*"));
    off_by_default();
    EXPECT_TRUE(detail::switch_tracepoints("switched.*,-*event"));
    off_by_default();
    EXPECT_EQ(computed, 1);
    EXPECT_EQ(events_called("switched.event").size(), 1U);
    EXPECT_FALSE(detail::switch_tracepoints(std::string(4001, 'x')));
  });
}

TEST(Tracepoints, WhatIsMetLaterIsSwitchedToo) {
  in_own_process([] {
    EXPECT_TRUE(detail::switch_tracepoints("-later.on,later.off"));
    FATHOM_EVENT("later.off");
    FATHOM_EVENT_ON("later.on");
    EXPECT_EQ(events_called("later.off").size(), 1U);
    EXPECT_EQ(events_called("later.on").size(), 0U);
  });
}

TEST(Tracepoints, AreSwitchedByOneByteOfTheirNames) {
  in_own_process([] {
    EXPECT_TRUE(detail::switch_tracepoints("sm?ll,-l?rge"));
    FATHOM_EVENT("small");
    FATHOM_EVENT("smll");
    FATHOM_EVENT_ON("large");
    EXPECT_EQ(events_called("small").size(), 1U);
    EXPECT_EQ(events_called("smll").size(), 0U);
    EXPECT_EQ(events_called("large").size(), 0U);
  });
}

// A plugin that is unloaded takes its tracepoints along.
TEST(Tracepoints, GoWithTheirModule) {
  in_own_process([] {
    auto module = std::make_unique<fathom_module>();
    auto point = std::make_unique<fathom_tracepoint>(fathom_tracepoint{FATHOM_HEAD_UNKNOWN, 0, 1, "plugin", "p.cc"});
    const char* const keys[] = {nullptr};
    const uint8_t types[] = {0};
    EXPECT_EQ(detail::meet(*point, *module, keys, types), 0U);
    EXPECT_TRUE(detail::switch_tracepoints("plugin"));
    EXPECT_NE(point->head, 0U);
    detail::leave(*module);
    detail::leave(*module);
    point.reset();
    module.reset();
    EXPECT_TRUE(detail::switch_tracepoints("-plugin"));
  });
}

template <int kNumber>
void one_of_many() {
  FATHOM_EVENT_ON("of.many", "number", kNumber);
}
template <int... kNumbers>
void many(std::integer_sequence<int, kNumbers...>) {
  (one_of_many<kNumbers>(), ...);
}

// In a template the place in the code is one for each instance; all of them are met by several threads at once.
TEST(Tracepoints, AreMetByThreadsAtOnce) {
  std::vector<std::thread> threads;
  const uint64_t lost_before = fathom_lost_events();
  for (int i = 0; i < 4; i++) threads.emplace_back([] { many(std::make_integer_sequence<int, 100>()); });
  for (std::thread& thread : threads) thread.join();
  const std::vector<ReadEvent> events = events_called("of.many");
  EXPECT_EQ(events.size(), 400U);
  EXPECT_EQ(fathom_lost_events(), lost_before);
  std::set<std::string> numbers;
  for (const ReadEvent& event : events) numbers.insert(event["number"]);
  EXPECT_EQ(numbers.size(), 100U);
}

// ---- the pool ------------------------------------------------------------------------------------------------------

void numbered(uint64_t number) {
  FATHOM_EVENT_ON("numbered", "number", number);
}

std::set<uint64_t> numbers_found() {
  std::set<uint64_t> numbers;
  for (const ReadEvent& event : events_called("numbered")) {
    EXPECT_TRUE(numbers.insert(event.number("number")).second) << "twice";
  }
  return numbers;
}

TEST(DetailPool, HoldsTheLatest) {
  in_own_process([] {
    settings.detail_mib = 1;
    constexpr uint64_t kEvents = 300'000;
    for (uint64_t i = 0; i < kEvents; i++) numbered(i);
    const std::set<uint64_t> numbers = numbers_found();
    EXPECT_EQ(*numbers.rbegin(), kEvents - 1);
    // What the small chunk holds is older: a thread has one of those in its life.
    const auto first = numbers.lower_bound(1000);
    EXPECT_EQ(numbers.size() - static_cast<size_t>(std::distance(numbers.begin(), first)), kEvents - *first);
    EXPECT_GT(kEvents - *first, (15U << 16) / 24 - 100);
    EXPECT_EQ(fathom_lost_events(), 0U);
  });
}

TEST(DetailPool, OrTheOldestWhereSomebodyWishesSo) {
  in_own_process([] {
    settings.detail_mib = 1;
    settings.discard = true;
    constexpr uint64_t kEvents = 300'000;
    for (uint64_t i = 0; i < kEvents; i++) numbered(i);
    const std::set<uint64_t> numbers = numbers_found();
    EXPECT_EQ(*numbers.rbegin(), numbers.size() - 1);
    EXPECT_EQ(numbers.size() + fathom_lost_events(), kEvents);
    EXPECT_EQ(DetailReader::of_this_process().header().losses[pool::kLostDiscarded].load(), fathom_lost_events());
  });
}

TEST(DetailPool, OrNothing) {
  in_own_process([] {
    settings.detail_mib = 0;
    numbered(1);
    EXPECT_EQ(detail::current_view().header, nullptr);
  });
}

// A thread that writes little keeps what it wrote, however much another writes.
TEST(DetailPool, KeepsWhatALivingThreadHasOpen) {
  std::atomic<int> step{0};
  std::thread quiet([&] {
    FATHOM_EVENT_ON("quiet");
    step = 1;
    while (step.load() != 2) std::this_thread::yield();
  });
  while (step.load() != 1) std::this_thread::yield();
  DetailReader reader = DetailReader::of_this_process();
  const uint64_t laps = 3ULL * reader.header().large_chunks * pool::kLargeBytes / 2048;
  const std::string text(2100, 'x');
  for (uint64_t i = 0; i < laps; i++) FATHOM_EVENT_ON("loud", "text", text);
  EXPECT_EQ(events_called("quiet").size(), 1U);
  step = 2;
  quiet.join();
}

// What was overwritten is as old as the pool says, and older.
TEST(DetailPool, SaysUntilWhenEventsWereOverwritten) {
  in_own_process([] {
    settings.detail_mib = 2;
    numbered(1);
    DetailReader reader = DetailReader::of_this_process();
    EXPECT_EQ(reader.header().overwritten_ticks.load(), 0U);
    const std::string text(1000, 'x');
    constexpr uint64_t kEvents = 6000;
    for (uint64_t i = 0; i < kEvents; i++) FATHOM_EVENT_ON("loud", "number", i, "text", text);
    std::set<uint64_t> numbers;
    for (const ReadEvent& event : events_called("loud")) {
      if (event.ticks > reader.header().overwritten_ticks) numbers.insert(event.number("number"));
    }
    const uint64_t sure = numbers.size();
    ASSERT_GT(sure, 1000U) << "of some 2000 that fit";
    EXPECT_LT(sure, 2100U);
    EXPECT_EQ(*numbers.begin(), kEvents - sure) << "these are the last ones, without a gap";
    EXPECT_EQ(*numbers.rbegin(), kEvents - 1);
  });
}

// ---- forks ---------------------------------------------------------------------------------------------------------

TEST(DetailPool, AChildHasItsOwn) {
  numbered(1'000'001);
  in_own_process([] {
    numbered(2);
    EXPECT_EQ(numbers_found(), std::set<uint64_t>{2});
    in_own_process([] {
      numbered(3);
      EXPECT_EQ(numbers_found(), std::set<uint64_t>{3});
    });
    numbered(4);
    EXPECT_EQ(numbers_found(), (std::set<uint64_t>{2, 4}));
  });
  numbered(1'000'005);
  const std::set<uint64_t> numbers = numbers_found();
  EXPECT_TRUE(numbers.contains(1'000'001) && numbers.contains(1'000'005));
  EXPECT_FALSE(numbers.contains(2) || numbers.contains(3) || numbers.contains(4));
}

TEST(DetailPool, ForksWhileThreadsGoOnWriting) {
  std::atomic<bool> done{false};
  std::vector<std::thread> writers;
  for (int t = 0; t < 3; t++) {
    writers.emplace_back([&done, t] {
      for (uint64_t i = 0; !done.load(); i++) FATHOM_EVENT_ON("busy", "thread", t, "number", i);
    });
  }
  for (uint64_t i = 0; i < repetitions(20); i++) {
    in_own_process([] {
      numbered(7);
      EXPECT_EQ(numbers_found(), std::set<uint64_t>{7});
      EXPECT_TRUE(events_called("busy").empty());
    });
  }
  done = true;
  for (std::thread& writer : writers) writer.join();
  EXPECT_FALSE(events_called("busy").empty());
}

}  // namespace
}  // namespace fathom::client

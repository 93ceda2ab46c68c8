#include "node-agent/pool/open_area.h"

#include <gtest/gtest.h>

#include <atomic>
#include <random>
#include <thread>

#include "node-agent/testing/scripted_pool.h"

namespace fathom::agent {
namespace {

using testing::ScriptedPool;

class OpenAreaTest : public ::testing::Test {
 protected:
  std::shared_ptr<const OpenArea> map(ScriptedPool& pool) {
    Result<PoolFile> file = PoolFile::open(pool.descriptor(), 0);
    EXPECT_TRUE(file.ok()) << file.error().message;
    Result<std::shared_ptr<const OpenArea>> open = OpenArea::map(*file);
    return open ? *open : nullptr;
  }
  ScriptedPool pool_{1, pool::Clock::kMonotonic, -1, 64};
  std::shared_ptr<const OpenArea> area_ = map(pool_);
};

TEST_F(OpenAreaTest, PoolsOfEarlierClientsHaveNone) {
  ScriptedPool old(1);
  EXPECT_EQ(map(old), nullptr);
}

TEST_F(OpenAreaTest, OpenSpansAreReadByLevel) {
  pool_.begin_span(2, 10, "outer", 1000, 77);
  pool_.begin_span(2, 11, "inner", 2000, 77);
  EXPECT_EQ(area_->owner(2), 77u);
  EXPECT_EQ(area_->depth(2), 2u);
  std::optional<OpenSpanCopy> outer = area_->read(2, 0);
  ASSERT_TRUE(outer);
  EXPECT_EQ(outer->name(), "outer");
  EXPECT_EQ(outer->start_ticks, 1000u);
  EXPECT_EQ(outer->kind, 1);
  EXPECT_EQ(outer->trace_id.bytes[0], 2);
  EXPECT_EQ(outer->span_id.bytes[0], 11);
  EXPECT_EQ(area_->read(2, 1)->name(), "inner");
  EXPECT_FALSE(area_->read(2, 2));
  pool_.end_span(2);
  EXPECT_FALSE(area_->read(2, 1));
  EXPECT_TRUE(area_->read(2, 0));
}

TEST_F(OpenAreaTest, LongNamesAreReadAsFarAsTheyAreThere) {
  pool_.begin_span(0, 1, std::string(300, 'n'), 1000);
  EXPECT_EQ(area_->read(0, 0)->name(), std::string(88, 'n'));
  EXPECT_EQ(area_->read(0, 0)->name_bytes, 300);
}

TEST_F(OpenAreaTest, SpansBeyondTheLevelsAreCountedOnly) {
  for (int i = 0; i < 20; ++i) pool_.begin_span(0, static_cast<uint64_t>(i), "deep", 1000);
  EXPECT_EQ(area_->depth(0), pool::kOpenLevels);
  EXPECT_EQ(area_->all_open().size(), pool::kOpenLevels);
}

TEST_F(OpenAreaTest, WhatIsBeingDescribedIsNotRead) {
  pool_.begin_span(0, 1, "work", 1000);
  pool_.slot(0).levels[0].start_ticks.store(0);
  EXPECT_FALSE(area_->read(0, 0));
}

TEST_F(OpenAreaTest, OnlySlotsThatWereUsedAreLookedAt) {
  EXPECT_EQ(area_->end_of_used(), 0u);
  pool_.begin_span(5, 1, "work", 1000);
  pool_.begin_span(62, 2, "more", 1000);
  EXPECT_EQ(area_->end_of_used(), 64u);
  std::vector<ThreadSpan> open = area_->all_open();
  ASSERT_EQ(open.size(), 2u);
  EXPECT_EQ(open[0].slot, 5u);
  EXPECT_EQ(open[1].slot, 62u);
  EXPECT_EQ(area_->all_open(8).size(), 1u);
  pool_.triggers().slots_present.store(UINT32_MAX);  // a liar
  EXPECT_EQ(area_->end_of_used(), area_->slots());
  EXPECT_EQ(area_->all_open().size(), 2u);
}

TEST_F(OpenAreaTest, TheMappingOutlivesTheFile) {
  pool_.begin_span(0, 1, "work", 1000);
  EXPECT_EQ(area_->all_open().size(), 1u);
  EXPECT_FALSE(area_->ended());
  pool_.triggers().ended.store(1);
  EXPECT_TRUE(area_->ended());
}

TEST_F(OpenAreaTest, TriggersAreReadOnceAndInOrder) {
  uint32_t ticket = 0;
  EXPECT_TRUE(area_->new_triggers(ticket, false).triggers.empty());
  pool_.trigger("first", 10, 500);
  pool_.trigger(std::string(200, 'r'), 20, 600);
  OpenArea::Triggers found = area_->new_triggers(ticket, false);
  ASSERT_EQ(found.triggers.size(), 2u);
  EXPECT_EQ(found.triggers[0].reason, "first");
  EXPECT_EQ(found.triggers[0].ticks, 500u);
  EXPECT_EQ(found.triggers[0].trace_id.bytes[0], 2);
  EXPECT_EQ(found.triggers[1].reason, std::string(86, 'r'));
  EXPECT_EQ(ticket, 2u);
  EXPECT_TRUE(area_->new_triggers(ticket, false).triggers.empty());
}

TEST_F(OpenAreaTest, TriggersThatWereOverwrittenAreCounted) {
  uint32_t ticket = 0;
  for (uint64_t i = 0; i < 40; ++i) pool_.trigger(std::to_string(i), i, i);
  OpenArea::Triggers found = area_->new_triggers(ticket, false);
  EXPECT_EQ(found.lost, 9u);
  ASSERT_EQ(found.triggers.size(), 31u);
  EXPECT_EQ(found.triggers.front().reason, "9");
  EXPECT_EQ(found.triggers.back().reason, "39");
  EXPECT_EQ(ticket, 40u);
}

TEST_F(OpenAreaTest, ATriggerThatIsNotCompleteIsWaitedForAndThenGivenUp) {
  uint32_t ticket = 0;
  pool_.trigger("first", 1, 1);
  pool_.triggers().tickets.fetch_add(1);  // and its thread was killed
  pool_.trigger("third", 3, 3);
  OpenArea::Triggers found = area_->new_triggers(ticket, false);
  EXPECT_EQ(found.triggers.size(), 1u);
  EXPECT_TRUE(found.waits);
  EXPECT_EQ(ticket, 1u);
  found = area_->new_triggers(ticket, true);
  ASSERT_EQ(found.triggers.size(), 1u);
  EXPECT_EQ(found.triggers[0].reason, "third");
  EXPECT_EQ(found.lost, 1u);
  EXPECT_FALSE(found.waits);
}

TEST_F(OpenAreaTest, WildTicketsAreBounded) {
  uint32_t ticket = 0;
  pool_.triggers().tickets.store(0xfffffff0);
  OpenArea::Triggers found = area_->new_triggers(ticket, true);
  EXPECT_TRUE(found.triggers.empty());
  EXPECT_EQ(found.lost, 0xfffffff0u);
  EXPECT_EQ(ticket, 0xfffffff0u);
}

// Names tell which span it is, in every byte; so nothing torn may be taken for whole.
void change_for_ever(ScriptedPool& pool, const std::atomic<bool>& stop) {
  for (uint64_t i = 0; !stop.load(); ++i) {
    char letter = static_cast<char>('a' + i % 26);
    pool.begin_span(0, i, std::string(i % 88, letter), i % 26 + 1);
    if (i % 3 == 0) pool.begin_span(0, i, std::string(88, letter), i % 26 + 1);
    while (pool.slot(0).depth.load() > 0) pool.end_span(0);
  }
}

TEST_F(OpenAreaTest, NothingTornIsRead) {
  std::atomic<bool> stop = false;
  std::thread writer([&] { change_for_ever(pool_, stop); });
  uint64_t read = 0;
  for (int looks = 0; looks < 200'000; ++looks) {
    std::optional<OpenSpanCopy> span = area_->read(0, static_cast<uint32_t>(looks % 2));
    if (!span) continue;
    ++read;
    std::string whole(span->name().size(), static_cast<char>('a' + span->start_ticks - 1));
    ASSERT_EQ(span->name(), whole);
  }
  stop.store(true);
  writer.join();
  RecordProperty("read", static_cast<int>(read));
}

TEST_F(OpenAreaTest, RandomBytesAreOnlyRandom) {
  std::mt19937_64 random(11);
  auto* words = reinterpret_cast<std::atomic<uint64_t>*>(&pool_.triggers());
  size_t count = pool::open_area_bytes(64) / sizeof(uint64_t);
  uint32_t ticket = 0;
  for (int round = 0; round < 200; ++round) {
    for (size_t i = 0; i < count; ++i) words[i].store(random() >> (random() % 64), std::memory_order_relaxed);
    for (const ThreadSpan& span : area_->all_open()) ASSERT_LE(span.span.name().size(), 88u);
    for (const ProgramTrigger& trigger : area_->new_triggers(ticket, round % 2 == 0).triggers)
      ASSERT_LE(trigger.reason.size(), 86u);
  }
}

}  // namespace
}  // namespace fathom::agent

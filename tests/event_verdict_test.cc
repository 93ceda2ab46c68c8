// Whether crash.events_lost can fail: programs that forget, readers that lose, pools that say what is not so.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "node-agent/detail/record_walk.h"
#include "tests/testing/event_crash.h"

namespace fathom {
namespace {

using agent::ChunkCopy;
using agent::DetailFile;
using agent::DetailSnapshot;
using testing::EventCrashPlan;
using testing::EventVerdict;

// Threads, handlers and spans, until the smallest pool has lapped several times: where a loss is hardest to tell.
EventCrashPlan lapping() {
  EventCrashPlan plan{.program = FATHOM_PROGRAMS "/event_writer"};
  plan.threads = 2;
  plan.signals_us = 50;
  plan.spans = true;
  plan.least_events = 100'000;
  return plan;
}

EventVerdict crash(const EventCrashPlan& plan) {
  Result<EventVerdict> verdict = testing::crash_event_writer(plan);
  EXPECT_TRUE(verdict.ok()) << verdict.error().message;
  if (!verdict) return {};
  EXPECT_GT(verdict->overwritten, verdict->found);
  EXPECT_GT(verdict->found, 5'000u);
  return *verdict;
}

EventVerdict crash_with(const std::function<void(DetailSnapshot&, const DetailFile&)>& sabotage) {
  EventCrashPlan plan = lapping();
  plan.sabotage = sabotage;
  return crash(plan);
}

uint64_t events_in(const ChunkCopy& chunk) {
  agent::RecordWalk walk(chunk.view);
  agent::DetailRecord record;
  uint64_t events = 0;
  while (walk.next(record)) ++events;
  return events;
}

// One that was handed over between threads may hold next to nothing.
bool is_well_filled(const ChunkCopy& chunk) {
  return !chunk.open && events_in(chunk) >= 50;
}

// Chunks are from old to young, and those that were open come first.
ChunkCopy& youngest_sealed(DetailSnapshot& snapshot) {
  for (auto chunk = snapshot.chunks.rbegin(); chunk != snapshot.chunks.rend(); ++chunk) {
    if (is_well_filled(*chunk)) return *chunk;
  }
  ADD_FAILURE() << "no chunk was sealed with events in it";
  return snapshot.chunks.back();
}

// As if it had never been committed.
void wipe_one_event(const ChunkCopy& chunk) {
  agent::RecordWalk walk(chunk.view);
  agent::DetailRecord record;
  uint64_t middle = events_in(chunk) / 2;
  while (walk.next(record) && (middle-- > 1 || record.long_form)) {
  }
  const char* begin = record.payload.data() - pool::kPayloadOffset;
  std::memset(const_cast<char*>(begin) + pool::kEpochOffset, 0, sizeof(uint32_t));
}

TEST(EventVerdictTest, IsGoodWithoutSabotage) {
  EventVerdict verdict = crash(lapping());
  EXPECT_TRUE(verdict.good()) << verdict.text();
}

TEST(EventVerdictTest, SeesAProgramThatForgets) {
  EventCrashPlan plan = lapping();
  plan.forget_every = 100;
  EventVerdict verdict = crash(plan);
  EXPECT_GT(verdict.lost, verdict.found / 200) << verdict.text();
  EXPECT_LT(verdict.lost, verdict.found / 50) << verdict.text();
}

TEST(EventVerdictTest, SeesAReaderThatLosesAChunk) {
  uint64_t missing = 0;
  EventVerdict verdict = crash_with([&](DetailSnapshot& snapshot, const DetailFile&) {
    ChunkCopy& chunk = youngest_sealed(snapshot);
    missing = events_in(chunk);
    snapshot.chunks.erase(snapshot.chunks.begin() + (&chunk - snapshot.chunks.data()));
  });
  // And the chunk itself is counted. Of those at its edges the place is not sure.
  EXPECT_LE(verdict.lost, missing + 1) << verdict.text();
  EXPECT_GE(verdict.lost, missing - 4) << verdict.text();
}

TEST(EventVerdictTest, SeesAReaderThatLosesHalfAChunk) {
  uint64_t missing = 0;
  EventVerdict verdict = crash_with([&](DetailSnapshot& snapshot, const DetailFile&) {
    ChunkCopy& chunk = youngest_sealed(snapshot);
    uint64_t all = events_in(chunk);
    chunk.view.bytes = chunk.view.bytes.substr(0, chunk.view.bytes.size() / 2);
    missing = all - events_in(chunk);
  });
  EXPECT_LE(verdict.lost, missing) << verdict.text();
  EXPECT_GE(verdict.lost, missing - 4) << verdict.text();
}

TEST(EventVerdictTest, SeesOneEventThatIsLost) {
  EventVerdict verdict =
      crash_with([](DetailSnapshot& snapshot, const DetailFile&) { wipe_one_event(youngest_sealed(snapshot)); });
  EXPECT_EQ(verdict.lost, 1u) << verdict.text();
}

// The one that changed chunks: what it was in before is overwritten, of the oldest chunk that is there.
bool wipe_first_event(const ChunkCopy& chunk) {
  agent::RecordWalk walk(chunk.view);
  agent::DetailRecord record;
  if (!is_well_filled(chunk) || !walk.next(record) || record.long_form) return false;
  const char* begin = record.payload.data() - pool::kPayloadOffset;
  std::memset(const_cast<char*>(begin) + pool::kEpochOffset, 0, sizeof(uint32_t));
  return true;
}

TEST(EventVerdictTest, SeesTheFirstEventOfEachChunk) {
  uint64_t wiped = 0;
  EventCrashPlan plan = lapping();
  plan.signals_us = 0;
  plan.spans = false;
  plan.sabotage = [&](DetailSnapshot& snapshot, const DetailFile& pool) {
    // Small ones are of a thread's first events, of which the log says nothing any more.
    for (const ChunkCopy& chunk : snapshot.chunks)
      wiped += !pool.shape().is_small(chunk.number) && wipe_first_event(chunk) ? 1 : 0;
  };
  EventVerdict verdict = crash(plan);
  EXPECT_GT(wiped, 5u);
  EXPECT_EQ(verdict.lost, wiped) << verdict.text();
}

TEST(EventVerdictTest, SeesHolesThatNoWriteExplains) {
  EventVerdict verdict = crash_with([](DetailSnapshot& snapshot, const DetailFile&) {
    for (const ChunkCopy& chunk : snapshot.chunks) {
      if (is_well_filled(chunk)) wipe_one_event(chunk);
    }
  });
  EXPECT_GT(verdict.odd_holes, 0u) << verdict.text();
}

TEST(EventVerdictTest, SeesWhatShouldHaveBeenOverwritten) {
  EventVerdict verdict = crash_with([](DetailSnapshot& snapshot, const DetailFile& pool) {
    pool.entry(youngest_sealed(snapshot).number).state.fetch_add(uint64_t{1} << 32);
  });
  EXPECT_GT(verdict.torn, 0u) << verdict.text();
}

}  // namespace
}  // namespace fathom

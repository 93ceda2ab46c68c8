#include "node-agent/triggers/trace_memory.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <set>
#include <utility>
#include <vector>

namespace fathom::agent {
namespace {

TraceId remembered_trace(uint64_t number) {
  TraceId id;
  std::memcpy(id.bytes.data() + 8, &number, sizeof number);
  return id;
}

void note(TraceMemory& memory, uint64_t trace, uint32_t program, uint64_t start_nano, uint64_t end_nano) {
  uint8_t id[16];
  std::memcpy(id, remembered_trace(trace).bytes.data(), sizeof id);
  memory.note(id, program, start_nano, end_nano);
}

TEST(TraceMemory, FindsEachProgramsTime) {
  TraceMemory memory(16);
  note(memory, 1, 7, 100, 200);
  note(memory, 1, 7, 50, 150);
  note(memory, 2, 7, 300, 400);
  note(memory, 1, 8, 120, 180);
  note(memory, 1, 7, 350, 390);
  const auto stays = memory.find(remembered_trace(1), 500);
  ASSERT_EQ(stays.size(), 2u);
  for (const auto& stay : stays) {
    EXPECT_EQ(stay.start_nano, stay.program == 7 ? 50u : 120u);
    EXPECT_EQ(stay.end_nano, stay.program == 7 ? 390u : 180u);
  }
  EXPECT_TRUE(memory.find(remembered_trace(3), 500).empty());
}

TEST(TraceMemory, ForgetsAfterAMinute) {
  TraceMemory memory(16);
  note(memory, 1, 7, 100, 200);
  EXPECT_EQ(memory.find(remembered_trace(1), 200 + TraceMemory::kKeepNano).size(), 1u);
  EXPECT_TRUE(memory.find(remembered_trace(1), 201 + TraceMemory::kKeepNano).empty());
}

// With few places, chains of all kinds are overwritten again and again.
TEST(TraceMemory, FindsJustWhatTheRingHas) {
  constexpr uint64_t kPlaces = 8, kTraces = 12;
  std::mt19937_64 random(5);
  TraceMemory memory(kPlaces);
  std::vector<std::pair<uint64_t, uint32_t>> notes;  // trace, program
  for (uint64_t now = 1; now < 5'000; ++now) {
    const std::pair<uint64_t, uint32_t> next(random() % kTraces, 1 + random() % 3);
    if (notes.empty() || notes.back() != next) notes.push_back(next);
    note(memory, next.first, next.second, now, now);
    const size_t kept = std::min<size_t>(notes.size(), kPlaces);
    const uint64_t asked = random() % kTraces;
    std::set<uint32_t> expected, found;
    for (size_t i = notes.size() - kept; i < notes.size(); ++i) {
      if (notes[i].first == asked) expected.insert(notes[i].second);
    }
    for (const auto& stay : memory.find(remembered_trace(asked), now)) found.insert(stay.program);
    ASSERT_EQ(found, expected) << now;
  }
}

}  // namespace
}  // namespace fathom::agent

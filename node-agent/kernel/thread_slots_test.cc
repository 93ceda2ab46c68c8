#include "node-agent/kernel/thread_slots.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace fathom::agent::kernel {
namespace {

ThreadSlot a_slot(uint32_t pid, uint32_t tid, uint64_t start_nano) {
  return {.tid = tid, .pid = pid, .start_nano = start_nano, .arguments = {start_nano, ~start_nano}, .number = 7};
}

std::vector<KernelEvent> events_of_slots(std::span<const SlotSet> slots) {
  std::vector<KernelEvent> events;
  read_slots(slots, 1'000, [&](const KernelEvent& event) { events.push_back(event); });
  return events;
}

TEST(ThreadSlots, OnlyCallsUnderWay) {
  std::vector<SlotSet> slots(8);
  slots[3].ways[2] = a_slot(10, 11, 500);
  slots[3].ways[3] = a_slot(10, 12, 0);
  slots[5].ways[0] = a_slot(20, 21, 600);
  auto events = events_of_slots(slots);
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events[0].kind, KernelEventKind::kSyscallUnderWay);
  EXPECT_EQ(events[0].pid, 10);
  EXPECT_EQ(events[0].tid, 11);
  EXPECT_EQ(events[0].syscall, 7);
  EXPECT_EQ(events[0].start_nano, 500U);
  EXPECT_EQ(events[0].arguments[0], 500U);
  EXPECT_EQ(events[0].monotonic_nano, 1'000U);
  EXPECT_EQ(events[1].tid, 21);
}

TEST(ThreadSlots, AForgottenProcessLeavesRoom) {
  std::vector<SlotSet> slots(8);
  slots[3].ways[2] = a_slot(10, 11, 500);
  slots[3].ways[3] = a_slot(10, 12, 0);
  slots[5].ways[0] = a_slot(20, 21, 600);
  free_slots(slots, 10);
  EXPECT_EQ(slots[3].ways[2].tid + slots[3].ways[3].tid, 0U);
  ASSERT_EQ(events_of_slots(slots).size(), 1U);
  EXPECT_EQ(events_of_slots(slots)[0].tid, 21);
}

// As note_start() of the BPF programs does, at full speed.
void write(ThreadSlot& slot, uint64_t start_nano) {
  __atomic_store_n(&slot.start_nano, 0, __ATOMIC_RELAXED);
  std::atomic_thread_fence(std::memory_order_release);
  __atomic_store_n(&slot.arguments[0], start_nano, __ATOMIC_RELAXED);
  __atomic_store_n(&slot.arguments[1], ~start_nano, __ATOMIC_RELAXED);
  __atomic_store_n(&slot.start_nano, start_nano, __ATOMIC_RELEASE);
}

TEST(ThreadSlots, NoneIsReadHalf) {
  std::vector<SlotSet> slots(1);
  slots[0].ways[1] = a_slot(10, 11, 1);
  std::atomic<bool> stop{false};
  std::thread writer([&] {
    for (uint64_t n = 2; !stop.load(std::memory_order_relaxed); ++n) write(slots[0].ways[1], n);
  });
  for (int round = 0; round < 200'000; ++round) {
    for (const KernelEvent& event : events_of_slots(slots)) {
      ASSERT_EQ(event.arguments[0], event.start_nano);
      ASSERT_EQ(event.arguments[1], ~event.start_nano);
    }
  }
  stop.store(true);
  writer.join();
}

}  // namespace
}  // namespace fathom::agent::kernel

#include "node-agent/kernel/thread_slots.h"

#include <atomic>

namespace fathom::agent::kernel {

namespace {

template <typename T>
T load(const T& from) {
  return __atomic_load_n(&from, __ATOMIC_RELAXED);
}

KernelEvent copy_slot(const ThreadSlot& slot, uint64_t start_nano) {
  KernelEvent event{.kind = KernelEventKind::kSyscallUnderWay};
  event.start_nano = start_nano;
  event.tid = static_cast<int32_t>(load(slot.tid));
  event.pid = static_cast<int32_t>(load(slot.pid));
  event.syscall = static_cast<int32_t>(load(slot.number));
  event.arguments[0] = load(slot.arguments[0]);
  event.arguments[1] = load(slot.arguments[1]);
  return event;
}

}  // namespace

void read_slots(std::span<const SlotSet> slots, uint64_t now_nano,
                const std::function<void(const KernelEvent&)>& sink) {
  for (const SlotSet& set : slots) {
    for (const ThreadSlot& slot : set.ways) {
      const uint64_t start_nano = __atomic_load_n(&slot.start_nano, __ATOMIC_ACQUIRE);
      if (start_nano == 0) continue;
      KernelEvent event = copy_slot(slot, start_nano);
      std::atomic_thread_fence(std::memory_order_acquire);
      if (load(slot.start_nano) != start_nano || event.tid == 0) continue;
      event.monotonic_nano = now_nano;
      sink(event);
    }
  }
}

void free_slots(std::span<SlotSet> slots, pid_t pid) {
  for (SlotSet& set : slots) {
    for (ThreadSlot& slot : set.ways) {
      if (load(slot.tid) == 0 || load(slot.pid) != static_cast<uint32_t>(pid)) continue;
      __atomic_store_n(&slot.start_nano, 0, __ATOMIC_RELAXED);
      __atomic_store_n(&slot.tid, 0, __ATOMIC_RELEASE);
    }
  }
}

}  // namespace fathom::agent::kernel

// The page that an event_writer shares with whoever started it: what it has committed survives it.
//
// Purpose: after a kill -9, which events must be found, and how to tell that one is whole. Thread safety: each slot has
// one writer, a thread and its signal handlers; readers use the atomics.
#pragma once

#include <atomic>
#include <cstdint>

namespace fathom::client {

inline constexpr uint32_t kEventThreads = 63;

// The numbers of a thread are 0 to started - 1, its handlers' included, in the order in which they were taken. All but
// started - finished of them are committed, and so may be one or two more.
struct alignas(64) EventSlot {
  std::atomic<uint64_t> started;
  std::atomic<uint64_t> finished;  // counted when FATHOM_EVENT is done
};

struct EventPage {
  alignas(64) std::atomic<uint64_t> ready;  // threads that have written their first event
  EventSlot slots[kEventThreads];
};
static_assert(sizeof(EventPage) == 4096);

// What an event's "fill" is, and the "sum" over all of it.
inline uint32_t fill_bytes(uint64_t number) {
  const uint64_t mixed = number * 0x9e3779b97f4a7c15 >> 40;
  if (mixed % 64 == 0) return static_cast<uint32_t>(mixed / 64 % 400);  // beyond 116 bytes: another form of record
  return static_cast<uint32_t>(mixed % 24);
}
inline uint32_t event_sum(uint32_t thread, uint64_t number, const char* fill, uint64_t bytes) {
  uint64_t sum = (thread + 1) * 0x9e3779b97f4a7c15 ^ number * 0xff51afd7ed558ccd;
  for (uint64_t i = 0; i < bytes; i++) sum = (sum ^ static_cast<uint8_t>(fill[i])) * 0x100000001b3;
  return static_cast<uint32_t>(sum >> 32 ^ sum);
}
inline constexpr uint32_t kMostEventRecord = 16 + 4 + 8 + 2 + 400 + 4 + 8;  // and a little more

}  // namespace fathom::client

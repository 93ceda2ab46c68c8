// The page that an event_writer shares with whoever started it: what it has committed survives it.
//
// Purpose: after a kill -9, which events must be found, and how to tell that one is whole. Behind the page there is a
// log for each thread: in which chunk of the pool each event went. Thread safety: each slot and each log has one
// writer, a thread and its signal handlers; readers use the atomics.
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

// A chunk in one of its lives.
struct EventPlace {
  static constexpr uint16_t kNowhere = 0xffff;
  uint16_t chunk = kNowhere;
  uint32_t epoch = 0;

  bool operator==(const EventPlace& other) const { return chunk == other.chunk && epoch == other.epoch; }
};

// An event that is committed, written before it counts as finished: the chunks in which the thread's cursor was before
// and after it. They differ when it changed chunks in between: then the event is in the second, or, where a signal
// handler changed them, in either, or in one between. The second word is stored last (release), so an entry is that of
// its number.
class EventLogEntry {
 public:
  void put(uint64_t number, EventPlace before, EventPlace after) {
    epochs_.store(uint64_t{before.epoch} << 32 | after.epoch, std::memory_order_relaxed);
    rest_.store((number + 1) << 32 | uint64_t{before.chunk} << 16 | after.chunk, std::memory_order_release);
  }
  bool is_of(uint64_t number) const {
    return rest_.load(std::memory_order_acquire) >> 32 == ((number + 1) & 0xffffffff);
  }
  EventPlace before() const {
    return {static_cast<uint16_t>(rest_.load() >> 16), static_cast<uint32_t>(epochs_.load() >> 32)};
  }
  EventPlace after() const { return {static_cast<uint16_t>(rest_.load()), static_cast<uint32_t>(epochs_.load())}; }

 private:
  std::atomic<uint64_t> epochs_;
  std::atomic<uint64_t> rest_;
};

struct EventPage {
  alignas(64) std::atomic<uint64_t> ready;  // threads that have written their first event
  uint64_t log_entries;                     // of each thread: number n is in n modulo this; 0: there are no logs
  EventSlot slots[kEventThreads];

  EventLogEntry* log(uint32_t thread) { return reinterpret_cast<EventLogEntry*>(this + 1) + thread * log_entries; }
  const EventLogEntry* log(uint32_t thread) const { return const_cast<EventPage*>(this)->log(thread); }
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

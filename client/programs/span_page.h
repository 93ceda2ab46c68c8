// The page that a span_writer shares with whoever started it: what it has finished survives it.
//
// Purpose: after a kill -9, which spans must be found. Thread safety: each slot has one writer; readers use the
// atomics. docs: client/programs/span_writer.cc says which spans a slot's count stands for.
#pragma once

#include <atomic>
#include <cstdint>

namespace fathom::client {

inline constexpr uint32_t kPageThreads = 63;

struct alignas(64) SpanSlot {
  std::atomic<uint64_t> finished;        // spans whose end() has returned: numbers 0 to finished - 1
  std::atomic<uint64_t> lost;            // by this process so far, as of then
  std::atomic<uint64_t> slow_calls;      // spans whose making took more than a millisecond by the wall
  std::atomic<uint64_t> longest_nano;    // by the wall
  std::atomic<uint64_t> longest_cpu_us;  // the thread's own time in the slowest of them
  std::atomic<uint64_t> waits;           // times that the thread gave its processor away while it made spans
};

struct SpanPage {
  alignas(64) std::atomic<uint64_t> ready;  // threads that have made their first span
  SpanSlot slots[kPageThreads];
};
static_assert(sizeof(SpanPage) == 4096);

}  // namespace fathom::client

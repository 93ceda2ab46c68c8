// LogPace: how often the log is told of what may happen often: at once, and then no more than once in a while.
//
// Purpose: a peer that comes a thousand times a second makes a line a second, and counters say how many they were.
// Thread safety: all of it.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/time.h"

namespace fathom {

class LogPace {
 public:
  explicit LogPace(uint64_t between_nano = kNanosPerSecond) : between_nano_(between_nano) {}

  // Whether it is time for a line; of several threads one is told so.
  bool due() {
    const uint64_t now = now_monotonic_nano();
    uint64_t next = next_nano_.load();
    return now >= next && next_nano_.compare_exchange_strong(next, now + between_nano_);
  }

 private:
  const uint64_t between_nano_;
  std::atomic<uint64_t> next_nano_{0};
};

}  // namespace fathom

// activity_of(): what a thread did for most of a stretch of time, by the stepper's rows alone.
//
// Purpose: whoever learns that a thread holds a lock asks what keeps it; the rows of system calls and of sleeps for
// locks tell, without decoding. Thread safety: pure functions. Ownership: pointers are to rows of the snapshot. Units:
// ticks of the time-stamp counter. Memory: a few words for each row of one thread. Work: one pass over the rows of that
// thread. Errors: none; rows come from strangers, so any order and any numbers are taken.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "snapshot/format/thread_rows.h"

namespace fathom::snapshot {

// From `begin` until before `end`.
struct Stretch {
  uint64_t begin = 0;
  uint64_t end = 0;
  uint64_t ticks() const { return end > begin ? end - begin : 0; }
};

// A system call of a thread.
struct ThreadCall {
  Stretch when = {};
  std::optional<uint64_t> number = std::nullopt;  // nothing: of a sleep, as older recorders wrote it
  const Sideband* lock = nullptr;                 // the kLockWait row, where it slept for a lock
  bool is_timed = false;                          // its end was recorded; else it is where the next call begins
  bool lasts = false;                             // until recording ended

  // 0: its end was not recorded.
  uint64_t measured_ticks() const { return is_timed ? when.ticks() : 0; }
};

// In the order of time; no two at once.
std::vector<ThreadCall> calls_of(const ThreadRows& rows, int32_t tid);

// Of the thread of a kLockWait row: the longest time at a stretch that it slept for that lock of that holder.
ThreadCall longest_sleep(const ThreadRows& rows, const Sideband& wait);

struct ThreadActivity {
  ThreadCall sleep;                     // it mostly slept for sleep.lock, the longest time like this; nullptr: no
  std::optional<uint64_t> system_call;  // or it was mostly in this call; nothing: it ran, or no row tells
};

// Of equal kinds times are summed; time between calls counts as what it is without the stepper (Snapshot::slowdown).
ThreadActivity activity_of(const ThreadRows& rows, int32_t tid, Stretch within);

}  // namespace fathom::snapshot

// activity_of(): what a thread did for most of a period, from the stepper's rows alone.
//
// Purpose: tell why a thread keeps a lock. The rows of system calls and of sleeps for locks show it without decoding.
// Thread safety: pure functions. Ownership: pointers refer to rows of the snapshot. Units: ticks of the time-stamp
// counter. Memory: a few words per row of one thread. Work: one pass over the rows of that thread. Errors: none; rows
// are not trusted, so any order and any numbers are accepted.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "snapshot/format/thread_rows.h"

namespace fathom::snapshot {

// [begin, end).
struct Stretch {
  uint64_t begin = 0;
  uint64_t end = 0;
  uint64_t ticks() const { return end > begin ? end - begin : 0; }
};

// A system call of a thread.
struct ThreadCall {
  Stretch when = {};
  std::optional<uint64_t> number = std::nullopt;  // nothing: a sleep that an older recorder wrote without its call
  const Sideband* lock = nullptr;                 // the kLockWait row, if the thread slept for a lock
  bool is_timed = false;                          // its end was recorded; else it ends where the next call begins
  bool lasts = false;                             // until recording ended

  // 0: the end was not recorded.
  uint64_t measured_ticks() const { return is_timed ? when.ticks() : 0; }
};

// By time; calls do not overlap.
std::vector<ThreadCall> calls_of(const ThreadRows& rows, int32_t tid);

// The longest single sleep of a kLockWait row's thread for that lock of that holder.
ThreadCall longest_sleep(const ThreadRows& rows, const Sideband& wait);

struct ThreadActivity {
  ThreadCall sleep;                     // the longest sleep for the lock it mostly slept for; lock == nullptr: none
  std::optional<uint64_t> system_call;  // or the system call that it mostly was in; nothing: it ran, or no row shows it
};

// Sums the times of equal activities. Time between calls is divided by Snapshot::slowdown.
ThreadActivity activity_of(const ThreadRows& rows, int32_t tid, Stretch within);

}  // namespace fathom::snapshot

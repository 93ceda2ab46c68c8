// lock_wait(): which lock a thread sleeps for, and who holds it.
//
// Purpose: a slow request mostly waits for a thread, and a person wants to know which. A thread that is stopped in
// futex(2) says by its registers where its lock is; what lies beside that word, in the locks of the C library, says who
// owns it. Thread safety: pure functions of what they are given. Errors: nothing, where it is no such wait, or the word
// beside is not the id of a thread that `is_thread` knows. Source of the idea: glibc's struct_mutex.h and
// struct_rwlock.h for x86-64, whose layout is part of its ABI.
#pragma once

#include <sys/types.h>
#include <sys/user.h>

#include <cstdint>
#include <functional>
#include <optional>

namespace fathom::snapshot::step {

struct LockWait {
  uint64_t address = 0;  // of the word that the kernel watches
  pid_t holder = 0;
  const char* lock = "";  // "mutex", "read-write lock"
};

struct LockWaitSources {
  std::function<std::optional<uint32_t>(uint64_t address)> read_word;  // of the waiter's memory
  std::function<bool(pid_t tid)> is_thread;                            // of the waiter's process
};

std::optional<LockWait> lock_wait(pid_t waiter, const user_regs_struct& registers, const LockWaitSources& sources);

}  // namespace fathom::snapshot::step

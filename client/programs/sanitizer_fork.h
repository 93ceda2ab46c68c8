// lock_sanitizer_around_fork(): makes fork() safe while another thread of the program allocates. AddressSanitizer of
// clang 16 does not take its locks around fork(). A child that is forked while another thread holds one of them
// deadlocks. Call it once, before the program starts a thread.
#pragma once

#include <pthread.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define FATHOM_ADDRESS_SANITIZER
#endif
#endif

#ifdef FATHOM_ADDRESS_SANITIZER

// Of the sanitizer's run-time library, which has no header for them.
namespace __lsan {  // NOLINT(bugprone-reserved-identifier)
void LockThreadRegistry();
void UnlockThreadRegistry();
void LockAllocator();
void UnlockAllocator();
}  // namespace __lsan
namespace __sanitizer {  // NOLINT(bugprone-reserved-identifier)
void StackDepotLockAll();
void StackDepotUnlockAll();
}  // namespace __sanitizer

inline void lock_sanitizer() {
  __lsan::LockThreadRegistry();
  __lsan::LockAllocator();
  __sanitizer::StackDepotLockAll();
}

inline void unlock_sanitizer() {
  __sanitizer::StackDepotUnlockAll();
  __lsan::UnlockAllocator();
  __lsan::UnlockThreadRegistry();
}

inline void lock_sanitizer_around_fork() {
  pthread_atfork(lock_sanitizer, unlock_sanitizer, unlock_sanitizer);
}

#else

inline void lock_sanitizer_around_fork() {}

#endif

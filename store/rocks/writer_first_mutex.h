// WriterFirstMutex: a reader-writer lock on which readers that overlap without end cannot keep a writer out.
//
// Purpose: searches read the newest generation under this lock while rows go into it; std::shared_mutex prefers readers
// here, so that two busy searches would stop all acknowledgements. Thread safety: it is what gives it. A thread that
// holds it shared must not ask for it again: a waiting writer would be between the two.
#pragma once

#include <pthread.h>

namespace fathom::store {

class WriterFirstMutex {
 public:
  WriterFirstMutex() {
    pthread_rwlockattr_t attributes;
    pthread_rwlockattr_init(&attributes);
    pthread_rwlockattr_setkind_np(&attributes, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
    pthread_rwlock_init(&lock_, &attributes);
    pthread_rwlockattr_destroy(&attributes);
  }
  ~WriterFirstMutex() { pthread_rwlock_destroy(&lock_); }
  WriterFirstMutex(const WriterFirstMutex&) = delete;
  WriterFirstMutex& operator=(const WriterFirstMutex&) = delete;

  void lock() { pthread_rwlock_wrlock(&lock_); }
  void unlock() { pthread_rwlock_unlock(&lock_); }
  void lock_shared() { pthread_rwlock_rdlock(&lock_); }
  void unlock_shared() { pthread_rwlock_unlock(&lock_); }

 private:
  pthread_rwlock_t lock_;
};

}  // namespace fathom::store

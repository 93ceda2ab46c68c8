// Scheduler: the interface through which the store's threads start, wait and end.
//
// Purpose: a simulation implements it and decides from a seed which thread runs next (store/testing/
// simulated_scheduler.h). Without a scheduler, StoreThread is a std::thread, WaitCondition a
// std::condition_variable and WaitMutex a std::mutex. Thread safety: as those of the standard library. Ownership: the
// scheduler outlives the store. Units: in names.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

#include "base/time.h"

namespace fathom::store {

class Scheduler {
 public:
  static constexpr uint64_t kNoDeadline = UINT64_MAX;

  virtual ~Scheduler() = default;
  virtual std::thread start(std::function<void()> body) = 0;
  virtual void join(std::thread& thread) = 0;
  // Releases `lock` until notify(condition) or the deadline, and takes it again. May return earlier.
  virtual void wait(const void* condition, std::unique_lock<std::mutex>& lock, uint64_t deadline_nano) = 0;
  virtual void notify(const void* condition) = 0;
  // Lets another thread run. The caller holds no lock.
  virtual void yield() = 0;
  virtual uint64_t now_nano() const = 0;  // monotonic
};

class WaitCondition {
 public:
  explicit WaitCondition(Scheduler* scheduler) : scheduler_(scheduler) {}

  template <typename Predicate>
  void wait(std::unique_lock<std::mutex>& lock, const Predicate& done) {
    if (scheduler_ == nullptr) return condition_.wait(lock, done);
    while (!done()) scheduler_->wait(this, lock, Scheduler::kNoDeadline);
  }
  // Returns what `done` returned last.
  template <typename Predicate>
  bool wait_for(std::unique_lock<std::mutex>& lock, std::chrono::nanoseconds longest, const Predicate& done) {
    return wait_until(lock, now_nano() + static_cast<uint64_t>(longest.count()), done);
  }
  template <typename Predicate>
  bool wait_until(std::unique_lock<std::mutex>& lock, uint64_t deadline_nano, const Predicate& done) {
    if (scheduler_ == nullptr) {
      const std::chrono::nanoseconds deadline(static_cast<int64_t>(deadline_nano));
      return condition_.wait_until(lock, std::chrono::steady_clock::time_point(deadline), done);
    }
    while (!done() && scheduler_->now_nano() < deadline_nano) scheduler_->wait(this, lock, deadline_nano);
    return done();
  }
  // Of the clock that deadlines are in.
  uint64_t now_nano() const { return scheduler_ == nullptr ? now_monotonic_nano() : scheduler_->now_nano(); }
  void notify_one() { scheduler_ == nullptr ? condition_.notify_one() : scheduler_->notify(this); }
  void notify_all() { scheduler_ == nullptr ? condition_.notify_all() : scheduler_->notify(this); }

 private:
  Scheduler* const scheduler_;
  std::condition_variable condition_;
};

// For a mutex that is held while its holder waits on a WaitCondition: a simulated thread that wants it must hand over.
class WaitMutex {
 public:
  explicit WaitMutex(Scheduler* scheduler) : scheduler_(scheduler) {}

  void lock() {
    if (scheduler_ == nullptr) return mutex_.lock();
    std::unique_lock lock(mutex_);
    while (is_held_) scheduler_->wait(this, lock, Scheduler::kNoDeadline);
    is_held_ = true;
  }
  void unlock() {
    if (scheduler_ == nullptr) return mutex_.unlock();
    std::lock_guard lock(mutex_);
    is_held_ = false;
    scheduler_->notify(this);
  }

 private:
  Scheduler* const scheduler_;
  std::mutex mutex_;  // of `is_held_`, where there is a scheduler
  bool is_held_ = false;
};

class StoreThread {
 public:
  explicit StoreThread(Scheduler* scheduler) : scheduler_(scheduler) {}

  void start(std::function<void()> body) {
    thread_ = scheduler_ == nullptr ? std::thread(std::move(body)) : scheduler_->start(std::move(body));
  }
  void join() {
    if (!thread_.joinable()) return;
    scheduler_ == nullptr ? thread_.join() : scheduler_->join(thread_);
  }

 private:
  Scheduler* const scheduler_;
  std::thread thread_;
};

}  // namespace fathom::store

// SimulatedScheduler: runs the store's threads one at a time, in an order that depends on a seed.
//
// Purpose: a simulation replays the interleaving of the store's own threads. Each task is a thread, and one of them
// runs. It runs until it waits, yields or ends; then the next one is drawn from the runnable tasks. Time is virtual. It
// moves to the earliest deadline when no task is runnable. Threads of RocksDB run beside the tasks and are not ordered.
// Thread safety: all methods. wait(), yield(), sleep() and join() are for tasks: the thread that constructed the
// scheduler, and those that start() started. Errors: the program ends if all tasks wait without a deadline.
#pragma once

#include <condition_variable>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <vector>

#include "store/rocks/scheduler.h"

namespace fathom::store::testing {

class SimulatedScheduler : public Scheduler {
 public:
  explicit SimulatedScheduler(uint64_t seed);

  std::thread start(std::function<void()> body) override;
  void join(std::thread& thread) override;
  void wait(const void* condition, std::unique_lock<std::mutex>& lock, uint64_t deadline_nano) override;
  void notify(const void* condition) override;
  void yield() override;
  uint64_t now_nano() const override;

  void sleep(uint64_t nano);

  // Only while there are no tasks besides the constructing thread.
  template <typename Visit>
  void visit_state(Visit& visit) {
    std::lock_guard lock(mutex_);
    visit("scheduler", random_);
    visit("scheduler_nano", now_nano_);
  }

 private:
  struct Task {
    std::condition_variable turn;
    const void* waits_for = nullptr;  // null: runnable
    uint64_t deadline_nano = kNoDeadline;
    bool is_over = false;
  };

  static Task*& current();
  void wait_as(Task& self, std::unique_lock<std::mutex>& own);
  void run_next();
  std::vector<Task*> runnable();
  void move_time();
  void wake(const void* condition);
  void end(Task& self);

  mutable std::mutex mutex_;
  std::mt19937_64 random_;
  std::list<Task> tasks_;
  std::map<std::thread::id, Task*> by_thread_;
  Task* running_ = nullptr;
  uint64_t now_nano_ = 1;
};

}  // namespace fathom::store::testing

#include "store/testing/simulated_scheduler.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace fathom::store::testing {

SimulatedScheduler::SimulatedScheduler(uint64_t seed) : random_(seed) {
  running_ = current() = &tasks_.emplace_back();
}

SimulatedScheduler::Task*& SimulatedScheduler::current() {
  thread_local Task* task = nullptr;
  return task;
}

std::thread SimulatedScheduler::start(std::function<void()> body) {
  std::lock_guard lock(mutex_);
  Task* task = &tasks_.emplace_back();
  std::thread thread([this, task, body = std::move(body)] {
    current() = task;
    {
      std::unique_lock own(mutex_);
      task->turn.wait(own, [&] { return running_ == task; });
    }
    body();
    end(*task);
  });
  by_thread_[thread.get_id()] = task;
  return thread;
}

void SimulatedScheduler::end(Task& self) {
  std::lock_guard lock(mutex_);
  self.is_over = true;
  wake(&self);
  run_next();
}

void SimulatedScheduler::join(std::thread& thread) {
  std::unique_lock own(mutex_);
  Task* task = by_thread_.at(thread.get_id());
  while (!task->is_over) {
    current()->waits_for = task;
    wait_as(*current(), own);
  }
  by_thread_.erase(thread.get_id());
  own.unlock();
  thread.join();
  own.lock();
  tasks_.remove_if([&](const Task& other) { return &other == task; });
}

// `waits_for` is set before the caller's lock is released, so that no notification is missed.
void SimulatedScheduler::wait(const void* condition, std::unique_lock<std::mutex>& lock, uint64_t deadline_nano) {
  std::unique_lock own(mutex_);
  current()->waits_for = condition;
  current()->deadline_nano = deadline_nano;
  lock.unlock();
  wait_as(*current(), own);
  own.unlock();
  lock.lock();
}

void SimulatedScheduler::sleep(uint64_t nano) {
  std::unique_lock own(mutex_);
  const uint64_t until_nano = now_nano_ + nano;
  while (now_nano_ < until_nano) {
    current()->waits_for = current();
    current()->deadline_nano = until_nano;
    wait_as(*current(), own);
  }
}

void SimulatedScheduler::yield() {
  std::unique_lock own(mutex_);
  wait_as(*current(), own);
}

void SimulatedScheduler::notify(const void* condition) {
  std::lock_guard lock(mutex_);
  wake(condition);
}

uint64_t SimulatedScheduler::now_nano() const {
  std::lock_guard lock(mutex_);
  return now_nano_;
}

void SimulatedScheduler::wake(const void* condition) {
  for (Task& task : tasks_) {
    if (task.waits_for == condition) task.waits_for = nullptr;
  }
}

void SimulatedScheduler::wait_as(Task& self, std::unique_lock<std::mutex>& own) {
  run_next();
  self.turn.wait(own, [&] { return running_ == &self; });
  self.waits_for = nullptr;
  self.deadline_nano = kNoDeadline;
}

void SimulatedScheduler::run_next() {
  std::vector<Task*> ready = runnable();
  if (ready.empty()) {
    move_time();
    ready = runnable();
  }
  running_ = ready[random_() % ready.size()];
  running_->turn.notify_one();
}

std::vector<SimulatedScheduler::Task*> SimulatedScheduler::runnable() {
  std::vector<Task*> ready;
  for (Task& task : tasks_) {
    if (!task.is_over && task.waits_for == nullptr) ready.push_back(&task);
  }
  return ready;
}

void SimulatedScheduler::move_time() {
  uint64_t earliest = kNoDeadline;
  for (const Task& task : tasks_) {
    if (!task.is_over) earliest = std::min(earliest, task.deadline_nano);
  }
  if (earliest == kNoDeadline) {
    std::fprintf(stderr, "all simulated threads wait for each other\n");
    std::abort();
  }
  now_nano_ = std::max(now_nano_, earliest);
  for (Task& task : tasks_) {
    if (task.deadline_nano <= now_nano_) task.waits_for = nullptr;
  }
}

}  // namespace fathom::store::testing

// Threads with a processor each, which run the same job at the same time.
//
// Purpose: a tracer's buffers belong to threads and processors, so the threads stay while what they run changes. Thread
// safety: run() from one thread. Ownership: the threads end with this object. Worker i is bound to processor i modulo
// the number of processors.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace fathom::bench::tracers {

// Lets nobody pass until all have come. For short waits: those who wait keep their processors.
class Gate {
 public:
  explicit Gate(unsigned count) : missing_(count) {}
  void pass() {
    missing_.fetch_sub(1);
    while (!all_came()) std::this_thread::yield();
  }
  bool all_came() const { return missing_.load() == 0; }
  void come() { missing_.fetch_sub(1); }

 private:
  std::atomic<unsigned> missing_;
};

class Workers {
 public:
  using Job = std::function<void(unsigned worker)>;
  explicit Workers(unsigned count);
  ~Workers();
  Workers(const Workers&) = delete;

  unsigned count() const { return static_cast<unsigned>(threads_.size()); }
  // On the named workers; returns when all have done it.
  void run(const std::vector<unsigned>& who, const Job& job);

 private:
  void work(unsigned worker);

  std::mutex mutex_;
  std::condition_variable changed_;
  const Job* job_ = nullptr;
  std::vector<bool> wanted_;  // who has not begun yet
  unsigned unfinished_ = 0;
  bool ending_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace fathom::bench::tracers

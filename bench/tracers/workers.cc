#include "bench/tracers/workers.h"

#include <algorithm>

#include "bench/loops.h"

namespace fathom::bench::tracers {

Workers::Workers(unsigned count) : wanted_(count, false) {
  for (unsigned i = 0; i < count; ++i) threads_.emplace_back([this, i] { work(i); });
}

Workers::~Workers() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void Workers::run(const std::vector<unsigned>& who, const Job& job) {
  std::unique_lock lock(mutex_);
  job_ = &job;
  for (const unsigned worker : who) wanted_.at(worker) = true;
  unfinished_ = static_cast<unsigned>(who.size());
  changed_.notify_all();
  changed_.wait(lock, [this] { return unfinished_ == 0; });
}

void Workers::work(unsigned worker) {
  pin_this_thread(worker % std::max(1U, std::thread::hardware_concurrency()));
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return ending_ || wanted_[worker]; });
    if (ending_) return;
    wanted_[worker] = false;
    const Job& job = *job_;
    lock.unlock();
    job(worker);
    lock.lock();
    if (--unfinished_ == 0) changed_.notify_all();
  }
}

}  // namespace fathom::bench::tracers

#include "node-agent/triggers/overdue_watch.h"

#include <chrono>

#include "base/thread_priority.h"
#include "base/time.h"

namespace fathom::agent {

OverdueWatch::OverdueWatch(ClockSource& clock, TriggerSink& sink, const WatchPace& pace)
    : round_(clock, sink, now_monotonic_nano, pace), thread_([this] { run(); }) {}

OverdueWatch::~OverdueWatch() {
  {
    std::lock_guard lock(mutex_);
    stops_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void OverdueWatch::tell(uint32_t serial, std::shared_ptr<const WatchedProgram> program) {
  {
    std::lock_guard lock(mutex_);
    news_.programs[serial] = std::move(program);
  }
  changed_.notify_one();
}

void OverdueWatch::set(std::shared_ptr<const WatchedProgram> program) {
  uint32_t serial = program->serial;
  tell(serial, std::move(program));
}

void OverdueWatch::remove(uint32_t serial) {
  tell(serial, nullptr);
}

void OverdueWatch::look_last(std::shared_ptr<const WatchedProgram> program) {
  {
    std::lock_guard lock(mutex_);
    news_.ended.push_back(std::move(program));
  }
  changed_.notify_one();
}

void OverdueWatch::set_thresholds(std::shared_ptr<const Thresholds> thresholds) {
  {
    std::lock_guard lock(mutex_);
    news_.thresholds = std::move(thresholds);
  }
  changed_.notify_one();
}

void OverdueWatch::apply(News news) {
  if (news.thresholds) round_.set_thresholds(std::move(news.thresholds));
  for (auto& program : news.ended) round_.look_last(std::move(program));
  for (auto& [serial, program] : news.programs) {
    program ? round_.set(std::move(program)) : round_.remove(serial);
  }
}

void OverdueWatch::run() {
  go_first();
  std::unique_lock lock(mutex_);
  while (!stops_) {
    News news = std::exchange(news_, {});
    lock.unlock();
    apply(std::move(news));
    // now_monotonic_nano() is what steady_clock counts.
    std::chrono::steady_clock::time_point next{std::chrono::nanoseconds(round_.step())};
    lock.lock();
    changed_.wait_until(lock, next, [this] { return stops_ || !news_.empty(); });
  }
}

}  // namespace fathom::agent

#include "query/runner.h"

#include <algorithm>

#include "base/log.h"
#include "base/metrics.h"
#include "base/time.h"
#include "query/counters.h"

namespace fathom::query {

namespace {

Gauge& waiting_gauge() {
  static Gauge& instance = gauge("fathom_query_waiting", "Queries that wait for a thread.");
  return instance;
}
Gauge& running_gauge() {
  static Gauge& instance = gauge("fathom_query_running", "Queries that run.");
  return instance;
}

}  // namespace

QueryRunner::QueryRunner(const QueryOptions& options) : options_(options) {
  register_counters();
  waiting_gauge();
  running_gauge();
  for (size_t i = 0; i < std::max<size_t>(1, options_.threads); ++i) threads_.emplace_back([this] { work(); });
}

QueryRunner::~QueryRunner() {
  stop();
}

void QueryRunner::set_limits(const QueryOptions& options) {
  options_.deadline_nano = options.deadline_nano;
  if (options.deadline_nano > options_.max_deadline_nano) {
    log_warning("--query-deadline: no query may take longer than " + format_duration(options_.max_deadline_nano) +
                " before a restart");
  }
  options_.byte_budget = options.byte_budget;
}

std::shared_ptr<store::QueryBudget> QueryRunner::make_budget(uint64_t timeout_nano) const {
  uint64_t timeout = timeout_nano == 0 ? uint64_t{options_.deadline_nano} : timeout_nano;
  timeout = std::min(timeout, options_.max_deadline_nano);
  return std::make_shared<store::QueryBudget>(now_monotonic_nano() + timeout, options_.byte_budget);
}

void QueryRunner::run(QueryTask task) {
  if (enqueue(task)) return;
  task.done(unavailable("too many queries are under way; try again in a second"));
}

bool QueryRunner::enqueue(QueryTask& task) {
  std::lock_guard lock(mutex_);
  if (stopping_ || queue_.size() >= options_.queue) {
    count_refused(stopping_ ? "stopping" : "queue_full");
    return false;
  }
  queue_.push_back({std::move(task), now_monotonic_nano()});
  waiting_gauge().add(1);
  changed_.notify_one();
  return true;
}

void QueryRunner::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
    if (queue_.empty()) return;
    Waiting next = std::move(queue_.front());
    queue_.pop_front();
    waiting_gauge().add(-1);
    running_.insert(next.task.budget);
    if (stopping_) next.task.budget->cancel();
    lock.unlock();
    execute(next);
    lock.lock();
    running_.erase(next.task.budget);
  }
}

void QueryRunner::execute(Waiting& waiting) {
  running_gauge().add(1);
  QueryTask& task = waiting.task;
  // Whoever waited too long, or has gone, costs nothing more.
  Result<> result = task.budget->check();
  if (result) result = task.work(*task.budget);
  running_gauge().add(-1);
  count_finished(task.name, result ? "ok" : error_code_name(result.error().code),
                 now_monotonic_nano() - waiting.since_monotonic_nano);
  task.done(result);
  task.work = nullptr;
  task.done = nullptr;
}

void QueryRunner::stop() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
    for (auto& waiting : queue_) waiting.task.budget->cancel();
    for (auto& budget : running_) budget->cancel();
  }
  changed_.notify_all();
  for (auto& thread : threads_) thread.join();
  threads_.clear();
}

}  // namespace fathom::query

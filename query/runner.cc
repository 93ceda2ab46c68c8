#include "query/runner.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include "base/log.h"
#include "base/metrics.h"
#include "base/thread_priority.h"
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

QueryRunner::QueryRunner(const QueryOptions& options, Scheduling scheduling)
    : options_(options), scheduling_(scheduling) {
  register_counters();
  waiting_gauge();
  running_gauge();
  std::lock_guard lock(mutex_);
  for (size_t i = 0; i < std::max<size_t>(1, options_.threads); ++i) add_thread();
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
  const bool is_full = !task.continues && queue_.size() + long_queue_.size() >= options_.queue;
  if (stopping_ || is_full) {
    count_refused(stopping_ ? "stopping" : "queue_full");
    return false;
  }
  queue_.push_back({std::move(task), now_monotonic_nano()});
  waiting_gauge().add(1);
  changed_.notify_one();
  return true;
}

// Joins the threads that have ended, and starts one. False when the system has no room for it.
bool QueryRunner::add_thread() {
  for (const std::thread::id& id : std::exchange(ended_, {})) {
    auto thread = std::ranges::find(threads_, id, [](const std::thread& one) { return one.get_id(); });
    thread->join();
    threads_.erase(thread);
  }
  try {
    threads_.emplace_back([this] { work(); });
  } catch (const std::system_error& fault) {
    log_warning(std::string("cannot start a thread for queries: ") + fault.what());
    return false;
  }
  return true;
}

// What is next for a thread; nothing: it ends.
std::optional<QueryRunner::Waiting> QueryRunner::take(Worker& worker) {
  std::deque<Waiting>& queue = worker.takes_long ? long_queue_ : queue_;
  const auto chosen = worker.takes_long ? long_queue_.begin() : next_short();
  if (chosen == queue.end()) return std::nullopt;
  Waiting next = std::move(*chosen);
  queue.erase(chosen);
  waiting_gauge().add(-1);
  if (!worker.takes_long && is_suspect(next.task)) {
    worker.is_suspect = true;
    ++suspects_;
  }
  return next;
}

// The first that may take a thread for short queries.
std::deque<QueryRunner::Waiting>::iterator QueryRunner::next_short() {
  const bool one_is_left = suspects_ + 1 < options_.threads || options_.threads < 2 || stopping_;
  if (one_is_left) return queue_.begin();
  return std::ranges::find_if(queue_, [this](const Waiting& waiting) { return !is_suspect(waiting.task); });
}

bool QueryRunner::is_suspect(const QueryTask& task) const {
  const auto habit = habits_.find(task.name);
  return habit != habits_.end() && habit->second.is_mostly_long();
}

void QueryRunner::end_suspicion(Worker& worker) {
  if (!std::exchange(worker.is_suspect, false)) return;
  --suspects_;
  changed_.notify_one();
}

void QueryRunner::work() {
  Worker worker;
  std::unique_lock lock(mutex_);
  for (;;) {
    if (!worker.takes_long) changed_.wait(lock, [this] { return stopping_ || next_short() != queue_.end(); });
    std::optional<Waiting> next = take(worker);
    if (!next) break;
    work_on(*std::move(next), worker, lock);
  }
  if (worker.takes_long) --long_threads_;
  ended_.push_back(std::this_thread::get_id());
}

void QueryRunner::work_on(Waiting next, Worker& worker, std::unique_lock<std::mutex>& lock) {
  const std::shared_ptr<store::QueryBudget> budget = next.task.budget;
  running_.insert(budget);
  if (stopping_) budget->cancel();
  lock.unlock();
  const std::string_view name = next.task.name;
  const bool was_short = !worker.takes_long;
  const Result<> result = attempt(next.task, worker);
  const bool begins_again = !result && budget->was_interrupted();
  const bool was_long = begins_again || worker.takes_long;
  if (!begins_again) finish(next, result);
  lock.lock();
  running_.erase(budget);
  end_suspicion(worker);
  if (was_short) habits_[name].note(was_long);
  if (begins_again) begin_again(std::move(next), worker);
}

void QueryRunner::begin_again(Waiting next, Worker& worker) {
  const std::shared_ptr<store::QueryBudget>& budget = next.task.budget;
  budget->restart();
  if (stopping_) budget->cancel();
  // The threads for long queries may have ended meanwhile; this one is then the next.
  if (has_room_for_long()) become_long(worker);
  (has_room_for_long() ? queue_ : long_queue_).push_back(std::move(next));
  waiting_gauge().add(1);
}

Result<> QueryRunner::attempt(QueryTask& task, Worker& worker) {
  running_gauge().add(1);
  if (scheduling_ == Scheduling::kTurns && !worker.takes_long) {
    task.budget->begin_turn(kTurnCpuNano, [this, &worker, &task] { return end_of_turn(worker, *task.budget); });
  } else if (worker.takes_long) {
    yield_after_a_while(*task.budget);
  }
  // A query that waited too long, or whose client has gone, costs nothing more.
  Result<> result = task.budget->check();
  if (result) result = task.work(*task.budget);
  task.budget->end_turn();
  running_gauge().add(-1);
  return result;
}

void QueryRunner::finish(Waiting& waiting, const Result<>& result) {
  QueryTask& task = waiting.task;
  count_finished(task.name, result ? "ok" : error_code_name(result.error().code),
                 now_monotonic_nano() - waiting.since_monotonic_nano);
  task.done(result);
  task.work = nullptr;
  task.done = nullptr;
}

// Called on the query's thread. While threads for long queries are busy, each takes the next one of long_queue_ when it
// is done, so that none stays there.
Result<> QueryRunner::end_of_turn(Worker& worker, store::QueryBudget& budget) {
  std::lock_guard lock(mutex_);
  if (stopping_) return {};
  if (!has_room_for_long()) {
    count_long("began_again");
    // Not kUnavailable, which the store would take for a fault of the disk.
    return Error{ErrorCode::kCancelled, "the query gives its thread to shorter ones, and begins again"};
  }
  become_long(worker);
  count_long("went_on");
  yield_after_a_while(budget);
  return {};
}

void QueryRunner::yield_after_a_while(store::QueryBudget& budget) {
  budget.begin_turn(kYieldCpuNano, [] {
    yield_to_questions();
    return Result<>();
  });
}

bool QueryRunner::has_room_for_long() const {
  return long_threads_ < std::max<size_t>(1, options_.threads);
}

// A new thread has its priority from the one that starts it: from one that has yielded none is started.
void QueryRunner::become_long(Worker& worker) {
  if (!stopping_ && !add_thread()) return;
  ++long_threads_;
  worker.takes_long = true;
  end_suspicion(worker);
}

void QueryRunner::stop() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
    for (auto& waiting : queue_) waiting.task.budget->cancel();
    for (auto& waiting : long_queue_) waiting.task.budget->cancel();
    for (auto& budget : running_) budget->cancel();
  }
  changed_.notify_all();
  for (auto& thread : threads_) thread.join();  // no thread starts another one from here on
  threads_.clear();
}

}  // namespace fathom::query

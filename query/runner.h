// QueryRunner: the threads on which queries run, with a bounded queue in front of them.
//
// Scheduling in turns keeps short queries short while long ones run. Every query begins on a thread for short queries.
// When it has used kTurnCpuNano of processor time there, it is a long one. Where fewer than `threads` long queries run,
// its thread goes on with it, at a lower priority after kYieldCpuNano, and a new thread takes short queries. Otherwise
// the query begins again later, on the next thread for long queries; its work must therefore be repeatable. Queries of
// a name that is mostly long leave one thread for short queries to the others, so that first turns of long ones cannot
// take all.
//
// Purpose: a query never holds a network thread; it waits a bounded time in a bounded queue, runs under a budget
// (deadline, bytes, cancellation), and is counted. Thread safety: run() and make_budget() from any thread.
// Ownership: the runner holds a query until its `done` was called, exactly once, on a runner's thread or, when the
// query is refused, on the caller's. Errors: a full queue is kUnavailable. Metrics: fathom_query_*.
#pragma once

#include <bit>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_set>
#include <vector>

#include "base/result.h"
#include "query/query_server.h"
#include "store/span_store.h"

namespace fathom::query {

// How much of a processor a query may use as a short one. Ordinary answers take a few milliseconds.
inline constexpr uint64_t kTurnCpuNano = 10'000'000;

// And as a long one before its thread gets a lower priority.
inline constexpr uint64_t kYieldCpuNano = 200'000'000;

enum class Scheduling {
  kFirstCome,  // `threads` threads, each with one query from begin to end
  kTurns,      // as many threads for short queries, and as many for long ones
};

struct QueryTask {
  std::string_view name;  // a literal: the label in metrics
  std::shared_ptr<store::QueryBudget> budget;
  std::function<Result<>(store::QueryBudget&)> work;
  std::function<void(const Result<>&)> done;
  bool continues = false;  // an answer that was begun: a full queue is no reason to refuse it
};

class QueryRunner {
 public:
  explicit QueryRunner(const QueryOptions& options, Scheduling scheduling = Scheduling::kFirstCome);
  ~QueryRunner();  // stop()

  // A budget whose time begins now; `timeout_nano` is cut to the longest allowed, 0 takes the default.
  std::shared_ptr<store::QueryBudget> make_budget(uint64_t timeout_nano) const;
  void run(QueryTask task);
  // Takes the settable members of `options`, for queries to come.
  void set_limits(const QueryOptions& options);
  // Cancels what waits and what runs, and waits for it to end. Later queries are refused.
  void stop();

 private:
  struct Waiting {
    QueryTask task;
    uint64_t since_monotonic_nano;
  };
  struct Worker {
    bool takes_long = false;
    bool is_suspect = false;  // has a query in its first turn that is expected to be long
  };
  // How often the last queries of a name were long.
  class Habit {
   public:
    void note(bool was_long) { last_ = static_cast<uint8_t>(last_ << 1 | (was_long ? 1 : 0)); }
    bool is_mostly_long() const { return std::popcount(last_) > 4; }

   private:
    uint8_t last_ = 0;  // a bit each
  };

  void work();
  void begin_again(Waiting next, Worker& worker);
  void work_on(Waiting next, Worker& worker, std::unique_lock<std::mutex>& lock);
  Result<> attempt(QueryTask& task, Worker& worker);
  void finish(Waiting& waiting, const Result<>& result);
  std::optional<Waiting> take(Worker& worker);
  std::deque<Waiting>::iterator next_short();
  bool is_suspect(const QueryTask& task) const;
  void end_suspicion(Worker& worker);
  Result<> end_of_turn(Worker& worker, store::QueryBudget& budget);
  static void yield_after_a_while(store::QueryBudget& budget);
  bool has_room_for_long() const;
  void become_long(Worker& worker);
  bool add_thread();
  bool enqueue(QueryTask& task);

  QueryOptions options_;  // constant but for what set_limits() changes
  std::mutex mutex_;
  std::condition_variable changed_;
  const Scheduling scheduling_;
  std::deque<Waiting> queue_;
  std::deque<Waiting> long_queue_;  // that will begin again
  size_t long_threads_ = 0;
  size_t suspects_ = 0;  // workers that are
  std::map<std::string_view, Habit> habits_;
  std::unordered_set<std::shared_ptr<store::QueryBudget>> running_;
  bool stopping_ = false;
  std::list<std::thread> threads_;
  std::vector<std::thread::id> ended_;  // of threads_, to be joined
};

}  // namespace fathom::query

// QueryRunner: the threads on which queries run, with a bounded queue in front of them.
//
// Purpose: a query never holds a network thread; it waits a bounded time in a bounded queue, runs under a budget
// (deadline, bytes, cancellation), and is counted. Thread safety: run() and make_budget() from any thread.
// Ownership: the runner holds a query until its `done` was called, exactly once, on a runner's thread or, when the
// query is refused, on the caller's. Errors: a full queue is kUnavailable. Metrics: fathom_query_*.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_set>
#include <vector>

#include "base/result.h"
#include "query/query_server.h"
#include "store/span_store.h"

namespace fathom::query {

struct QueryTask {
  std::string_view name;  // a literal: the label in metrics
  std::shared_ptr<store::QueryBudget> budget;
  std::function<Result<>(store::QueryBudget&)> work;
  std::function<void(const Result<>&)> done;
};

class QueryRunner {
 public:
  explicit QueryRunner(const QueryOptions& options);
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

  void work();
  void execute(Waiting& waiting);
  bool enqueue(QueryTask& task);

  QueryOptions options_;  // constant but for what set_limits() changes
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Waiting> queue_;
  std::unordered_set<std::shared_ptr<store::QueryBudget>> running_;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace fathom::query

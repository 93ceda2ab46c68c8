#include "bench/trust/fair_query.h"

#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>

#include "base/time.h"
#include "bench/progress.h"
#include "bench/query_client.h"

namespace fathom::bench {

namespace {

constexpr int kDeadlineStatus = 504;
constexpr uint64_t kUnderWayNano = 2'000'000'000;  // until all expensive clients have long queries under way

// Clients that ask expensive questions until they are told to end.
class ExpensiveClients {
 public:
  explicit ExpensiveClients(const FairQueryOptions& options) {
    for (size_t i = 0; i < options.clients; ++i) {
      threads_.emplace_back([this, http = options.http, i] { ask(http, i); });
    }
  }
  ~ExpensiveClients() { end(); }

  void end() {
    ending_ = true;
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }
  // After end().
  Result<> add_to(FairQueryFigures& figures) const {
    figures.expensive = latencies_;
    figures.beyond_deadline = beyond_deadline_;
    return fault_;
  }

 private:
  void ask(const std::string& http, size_t first) {
    const std::vector<std::string> targets = expensive_targets();
    QueryClient client(http);
    for (size_t i = first; !ending_; ++i) {
      auto reply = client.get(targets[i % targets.size()]);
      std::lock_guard lock(mutex_);
      note(reply, targets[i % targets.size()]);
    }
  }

  void note(const Result<TimedReply>& reply, const std::string& target) {
    if (!reply) {
      fault_ = Error{reply.error().code, "GET " + target + "\n" + reply.error().message};
      return;
    }
    if (reply->status == kDeadlineStatus) ++beyond_deadline_;
    if (reply->status == 200) latencies_.record(reply->nano);
    if (reply->status != 200 && reply->status != kDeadlineStatus) {
      fault_ = internal("GET " + target + " was answered " + std::to_string(reply->status) + ": " + reply->body);
    }
  }

  std::atomic<bool> ending_{false};
  std::mutex mutex_;  // of all below
  Latencies latencies_;
  uint64_t beyond_deadline_ = 0;
  Result<> fault_;
  std::vector<std::thread> threads_;
};

Result<> ask_traces(const Workload& workload, uint64_t traces, const FairQueryOptions& options, Latencies& latencies) {
  QueryClient client(options.http);
  Progress progress("traces by id", options.rounds);
  const auto begin = std::chrono::steady_clock::now();
  for (size_t round = 0; round < options.rounds; ++round) {
    progress.at(round);
    std::this_thread::sleep_until(begin + std::chrono::nanoseconds(options.pace_nano * round));
    const uint64_t index = scaled(Draws(options.seed, round)(0), traces);
    auto body = client.timed("/api/v1/traces/" + workload.facts(index).trace_id().hex(), latencies);
    if (!body) return body.error();
    if (Result<> equal = expect_trace(*body, workload, index); !equal) return equal;
  }
  return {};
}

}  // namespace

std::vector<std::string> expensive_targets() {
  const std::string all = "since=30h&timeout=60s";
  return {
      "/api/v1/slowest?" + all + "&limit=1000&where=" + "session.id!=absent",
      "/api/v1/differences?" + all + "&within=trace&min_duration=1ms",
      "/api/v1/attributes/session.id/values?" + all + "&limit=1000",
      "/api/v1/heatmap?" + all + "&where=" + "session.id!=absent",
      "/api/v1/graph?" + all,
  };
}

Result<FairQueryFigures> measure_fair_query(const Workload& workload, uint64_t traces,
                                            const FairQueryOptions& options) {
  FairQueryFigures figures;
  ExpensiveClients clients(options);
  std::this_thread::sleep_for(std::chrono::nanoseconds(kUnderWayNano));
  Result<> asked = ask_traces(workload, traces, options, figures.trace_by_id);
  clients.end();
  if (!asked) return asked.error();
  if (Result<> fine = clients.add_to(figures); !fine) return fine.error();
  return figures;
}

}  // namespace fathom::bench

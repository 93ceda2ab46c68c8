// bench-query: how soon questions are answered while spans come in, each answer compared with brute force. See
// bench/README.md.
#include <cstdio>

#include "base/time.h"
#include "bench/live_load.h"
#include "bench/options.h"
#include "bench/progress.h"
#include "bench/query_steps.h"
#include "bench/report.h"
#include "bench/server.h"

namespace fathom::bench {
namespace {

constexpr uint64_t kStoredSpanNano = 25 * kNanosPerHour;  // event time of what is stored
constexpr uint64_t kStoredEndsBeforeNano = 5 * kNanosPerMinute;
constexpr size_t kHealthChecks = 2000;
constexpr size_t kQuestionsAfter = 50;

Options make_options() {
  return {"bench-query",
          {{"--spans", "100000000", "shop-v1 spans stored before the queries, over the last 25 hours"},
           {"--live-rate", "50000", "spans/s that come in meanwhile"},
           {"--rounds", "1000", "queries per key"},
           {"--pace-ms", "60", "at least this long from round to round, so that maintenance has its turns"},
           {"--page-walks", "20", "rounds that reach the fiftieth page by 49 others"},
           {"--seed", "1", "of workload and questions"},
           {"--server", beside_this_program("fathom-server"), "the program under test"},
           {"--work-directory", "/tmp", "where the data directory is made and removed"},
           {"--json", "", "a file for the figures"}}};
}

Schedule stored_schedule(uint64_t traces) {
  return {now_unix_nano() - kStoredSpanNano - kStoredEndsBeforeNano, kStoredSpanNano / traces};
}

class QueryBench {
 public:
  QueryBench(const Options& options, Report& report)
      : options_(options),
        report_(report),
        traces_(std::max<uint64_t>(options.number("--spans") / kPositions, 1)),
        workload_(Shape::kShop, options.number("--seed"), stored_schedule(traces_)) {}

  Result<> run() {
    auto server = Server::start({options_.text("--server"), options_.text("--work-directory")});
    if (!server) return server.error();
    server_ = std::move(*server);
    for (auto step : {&QueryBench::floor, &QueryBench::load, &QueryBench::measure}) {
      if (Result<> fine = (this->*step)(); !fine) return fine;
    }
    return add_server();
  }

 private:
  Result<> floor() {
    QueryClient client(server_->http());
    Latencies health;
    for (size_t i = 0; i < kHealthChecks; ++i) {
      if (auto reply = client.timed("/healthz", health); !reply) return reply.error();
    }
    report_.add("floor.http_round_trip_ms_p99", health.p99_ms(), "GET /healthz, nothing else going on");
    return {};
  }

  Result<> load() {
    LoadClient client({server_->otlp_grpc(), 2, 32});
    Exporters exporters(workload_, 0, traces_);
    uint64_t begin = now_monotonic_nano();
    {
      Progress progress("spans stored", traces_ * kPositions);
      send_closed_loop(exporters, client, [&](uint64_t sent) { progress.at(sent); });
    }
    const LoadCounts& counts = client.counts();
    if (counts.spans_acked != traces_ * kPositions) return internal("spans were not taken: " + counts.first_failure);
    double seconds = static_cast<double>(now_monotonic_nano() - begin) / 1e9;
    report_.add("query.stored_spans", static_cast<double>(counts.spans_acked), "shop-v1, event time over 25 h");
    report_.add("query.load_spans_per_s", static_cast<double>(counts.spans_acked) / seconds, "by the wall");
    if (!server_->process().wait_until_idle(0.05, 600)) report_.note("The server was not idle before the queries.");
    return {};
  }

  Result<> measure() {
    TraceTable table(workload_, traces_);
    QueryPlan plan(table, options_.number("--seed") + 1, options_.number("--rounds"));
    LiveLoad live(server_->otlp_grpc(), options_.number("--seed") + 2, options_.real("--live-rate"));
    QueryRounds rounds(plan, server_->http(), server_->otlp_grpc(), options_.number("--seed") + 3,
                       options_.number("--page-walks"));
    double cpu_before = server_->process().cpu_seconds();
    uint64_t begin = now_monotonic_nano();
    Result<> done = rounds.run(options_.number("--pace-ms") * 1'000'000);
    double seconds = static_cast<double>(now_monotonic_nano() - begin) / 1e9;
    double cores = (server_->process().cpu_seconds() - cpu_before) / seconds;
    live.stop();
    if (!done) return done;
    add_latencies(rounds.latencies());
    report_.add("query.server_cores", cores, "used while queries and spans came in");
    report_.add("query.live_ack_ms_p99", live.counts().ack.p99_ms(), "of the spans that came in meanwhile");
    report_.add("query.live_refused_requests", static_cast<double>(live.counts().refused), "sent again until taken");
    return verify_live(table, live);
  }

  Result<> verify_live(const TraceTable& stored, const LiveLoad& live) {
    if (live.counts().failed != 0 || live.counts().spans_acked != live.traces() * kPositions)
      return internal("live spans were not taken: " + live.counts().first_failure);
    TraceTable came_in(live.workload(), live.traces());
    Result<> fine = verify_after(server_->http(), stored, came_in, kQuestionsAfter);
    if (fine)
      report_.add("query.live_spans", static_cast<double>(live.counts().spans_acked), "all of them verified after");
    return fine;
  }

  void add_latencies(const QueryLatencies& all) {
    add("query.slowest_hour_ms", all.hour, "half of them of one operation");
    add("query.slowest_day_ms", all.day, "24 hours, all services");
    add("query.slowest_where_ms", all.where, "one hour, tenant.tier=canary (0.1 %)");
    add("query.slowest_page_50_ms", all.page_50, "rows 981 to 1000 of one hour");
    add("query.trace_by_id_ms", all.trace_by_id, "8 spans");
    add("e2e.acknowledged_to_found_ms", all.found, "a span of a new trace, by id");
  }

  void add(const std::string& key, const Latencies& latencies, const std::string& what) {
    if (latencies.count() == 0) return report_.note("No measurement of " + key + "_p99: too few spans stored.");
    report_.add(key + "_p99", latencies.p99_ms(), what + ", " + std::to_string(latencies.count()) + " times");
    report_.add(key + "_p50", latencies.p50_ms(), "");
    report_.add(key + "_max", latencies.max_ms(), "");
  }

  Result<> add_server() {
    auto settled = server_->settle_and_stop();
    if (!settled) return settled.error();
    report_.add("query.server_rss_max_mib", settled->rss_max_mib, "load, queries and closing");
    report_.add("query.server_disk_mib", static_cast<double>(settled->disk.bytes) / 1048576, "after closing");
    report_.note("Every answer was compared with brute force; all were equal.");
    return {};
  }

  const Options& options_;
  Report& report_;
  uint64_t traces_;
  Workload workload_;
  std::unique_ptr<Server> server_;
};

int run(int argc, char** argv) {
  Options options = make_options();
  if (const auto status = options.parse_or_exit(argc, argv)) return *status;
  Report report("query", describe_machine(options.text("--work-directory")).line(), options.command());
  Result<> done = QueryBench(options, report).run();
  return report.finish(done, options.text("--json"));
}

}  // namespace
}  // namespace fathom::bench

int main(int argc, char** argv) {
  return fathom::bench::run(argc, argv);
}

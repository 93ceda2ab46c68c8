// trust-fair-query: stores a workload in a new server, then measures the fairness of queries. See bench/README.md.
#include <cstdlib>

#include "base/time.h"
#include "bench/load_client.h"
#include "bench/options.h"
#include "bench/progress.h"
#include "bench/report.h"
#include "bench/server.h"
#include "bench/trust/fair_query.h"

namespace fathom::bench {
namespace {

constexpr uint64_t kStoredSpanNano = 25 * kNanosPerHour;  // event time of what is stored
constexpr uint64_t kStoredEndsBeforeNano = 5 * kNanosPerMinute;

Options make_options() {
  return {"trust-fair-query",
          {{"--spans", "10000000", "shop-v1 spans stored before the queries, over the last 25 hours"},
           {"--clients", "4", "that ask the most expensive queries meanwhile"},
           {"--rounds", "1000", "traces by id"},
           {"--pace-ms", "25", "at least this long from one to the next"},
           {"--seed", "1", "of workload and questions"},
           {"--server", beside_this_program("fathom-server"), "the program under test"},
           {"--work-directory", "/tmp", "where the data directory is made and removed"},
           {"--json", "", "a file for the figures"}}};
}

double load_average() {
  double one_minute = 0;
  return ::getloadavg(&one_minute, 1) == 1 ? one_minute : 0;
}

Result<> store_spans(const Server& server, const Workload& workload, uint64_t traces) {
  LoadClient client({server.otlp_grpc(), 2, 32});
  Exporters exporters(workload, 0, traces);
  Progress progress("spans stored", traces * kPositions);
  send_closed_loop(exporters, client, [&](uint64_t sent) { progress.at(sent); });
  const bool all = client.counts().spans_acked == traces * kPositions;
  return all ? Result<>() : Result<>(internal("spans were not taken: " + client.counts().first_failure));
}

void add_figures(const FairQueryFigures& figures, const Options& options, Report& report) {
  report.add("trust.fair_query_ms_p99", figures.trace_by_id.p99_ms(),
             "trace by id, beside " + options.text("--clients") + " clients with expensive queries");
  report.add("trust.fair_query_ms_p50", figures.trace_by_id.p50_ms(), "");
  report.add("trust.fair_query_ms_max", figures.trace_by_id.max_ms(), "");
  report.add("trust.expensive_query_ms_p50", figures.expensive.p50_ms(), "of the expensive queries themselves");
  report.add("trust.expensive_queries", static_cast<double>(figures.expensive.count()), "that were answered meanwhile");
  report.add("trust.expensive_queries_beyond_deadline", static_cast<double>(figures.beyond_deadline), "");
}

Result<> measure(const Options& options, Report& report) {
  const uint64_t traces = std::max<uint64_t>(options.number("--spans") / kPositions, 1);
  const Workload workload(Shape::kShop, options.number("--seed"),
                          {now_unix_nano() - kStoredSpanNano - kStoredEndsBeforeNano, kStoredSpanNano / traces});
  auto server = Server::start({options.text("--server"), options.text("--work-directory")});
  if (!server) return server.error();
  if (Result<> stored = store_spans(**server, workload, traces); !stored) return stored;
  if (!(*server)->process().wait_until_idle(0.05, 600)) report.note("The server was not idle before the queries.");
  report.add("trust.fair_query_load_average", load_average(), "of the machine before the queries, over a minute");
  auto figures = measure_fair_query(workload, traces,
                                    {.http = (*server)->http(),
                                     .clients = options.number("--clients"),
                                     .rounds = options.number("--rounds"),
                                     .pace_nano = options.number("--pace-ms") * kNanosPerMilli,
                                     .seed = options.number("--seed") + 1});
  if (!figures) return figures.error();
  add_figures(*figures, options, report);
  report.note("Every trace was compared with the workload; all were equal.");
  return {};
}

int run(int argc, char** argv) {
  Options options = make_options();
  if (const auto status = options.parse_or_exit(argc, argv)) return *status;
  Report report("trust fair_query", describe_machine(options.text("--work-directory")).line(), options.command());
  const Result<> done = measure(options, report);
  return report.finish(done, options.text("--json"));
}

}  // namespace
}  // namespace fathom::bench

int main(int argc, char** argv) {
  return fathom::bench::run(argc, argv);
}

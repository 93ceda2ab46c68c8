// bench-ingest: what it costs to take spans in, and what they weigh on disk. See bench/README.md.
#include <algorithm>
#include <cstdio>
#include <cstring>

#include "bench/grpc_sink.h"
#include "bench/ingest_steps.h"
#include "bench/options.h"
#include "bench/report.h"

namespace fathom::bench {
namespace {

constexpr uint64_t kGrpcFloorSpans = 2'000'000;
constexpr size_t kFsyncFloorBytes = 128 * 1024;
constexpr uint64_t kOneExporterRequests = 3000;

Options make_options() {
  return {"bench-ingest",
          {{"--steps", "all", "of floor,shop,single,one,ack,overload, separated by commas"},
           {"--spans", "4000000", "shop-v1 spans of a throughput run; single-v1 has half as many"},
           {"--runs", "1", "throughput runs; the median counts"},
           {"--rate", "0", "spans/s of the highest rate; 0: as measured by step shop"},
           {"--ack-seconds", "60", "of the open loop at half of the highest rate"},
           {"--overload-seconds", "600", "of overload"},
           {"--connections", "64", "of overload"},
           {"--seed", "1", "of the workloads"},
           {"--server", beside_this_program("fathom-server"), "the program under test"},
           {"--work-directory", "/tmp", "where data directories are made and removed"},
           {"--json", "", "a file for the figures"}}};
}

class IngestBench {
 public:
  IngestBench(const Options& options, Report& report) : options_(options), report_(report) {
    server_ = {options.text("--server"), options.text("--work-directory")};
  }

  Result<> run() {
    for (auto step : {&IngestBench::floors, &IngestBench::shop, &IngestBench::single, &IngestBench::one_exporter,
                      &IngestBench::ack, &IngestBench::overload}) {
      if (Result<> fine = (this->*step)(); !fine) return fine;
    }
    return {};
  }

 private:
  bool selected(std::string_view step) const { return options_.selects("--steps", step); }
  uint64_t seed() const { return options_.number("--seed"); }
  static std::vector<std::string> sink_command() { return {beside_this_program("bench-ingest"), "sink"}; }

  Result<> floors() {
    if (!selected("floor")) return {};
    Latencies sync = measure_fdatasync(server_.work_directory, 500, kFsyncFloorBytes);
    report_.add("floor.fdatasync_128k_ms_p99", sync.p99_ms(), "append 128 KiB, fdatasync");
    auto floor = measure_grpc_floor(sink_command(), kGrpcFloorSpans);
    if (!floor) return floor.error();
    report_.add("floor.grpc_discard_spans_per_s_per_core", floor->spans_per_s_per_core, "a gRPC server that drops all");
    report_.add("floor.grpc_discard_spans_per_s", floor->spans_per_s, "by the wall; the generator included");
    report_.add("floor.grpc_discard_ack_ms_p99", floor->open_loop.ack.p99_ms(),
                "open loop, " + std::to_string(static_cast<uint64_t>(floor->open_loop.spans_per_s)) + " spans/s, 10 s");
    return {};
  }

  // The run whose cost is the median of all.
  Result<Throughput> median_throughput(Shape shape, uint64_t spans) {
    std::vector<Throughput> runs;
    for (uint64_t run = 0; run < std::max<uint64_t>(options_.number("--runs"), 1); ++run) {
      auto result = measure_throughput(server_, shape, seed() + run, spans);
      if (!result) return result.error();
      runs.push_back(*result);
    }
    std::sort(runs.begin(), runs.end(), [](const Throughput& a, const Throughput& b) {
      return a.spans_per_s_per_core() < b.spans_per_s_per_core();
    });
    return runs[runs.size() / 2];
  }

  Result<> shop() {
    if (!selected("shop")) return {};
    auto result = median_throughput(Shape::kShop, options_.number("--spans"));
    if (!result) return result.error();
    highest_rate_ = result->spans_per_s();
    report_.add("ingest.otlp_grpc_spans_per_s_per_core", result->spans_per_s_per_core(), "shop-v1, until compacted");
    report_.add("ingest.otlp_grpc_spans_per_s", result->spans_per_s(), "by the wall; client on the same machine");
    report_.add("ingest.cpu_us_per_span", 1e6 / result->spans_per_s_per_core(), "");
    report_.add("ingest.throughput_rss_max_mib", result->settled.rss_max_mib, "of the same run, closing included");
    report_.add("ingest.throughput_refused_requests", static_cast<double>(result->refused), "sent again until taken");
    add_disk("store.bytes_per_span", *result, "shop-v1");
    return {};
  }

  Result<> single() {
    if (!selected("single")) return {};
    auto result = median_throughput(Shape::kSingle, options_.number("--spans") / 2);
    if (!result) return result.error();
    report_.add("ingest.single_spans_per_s_per_core", result->spans_per_s_per_core(), "single-v1, until compacted");
    add_disk("store.bytes_per_span_single", *result, "single-v1");
    return {};
  }

  void add_disk(const char* key, const Throughput& result, const std::string& workload) {
    std::string spans = std::to_string(result.spans) + " spans";
    const DiskUse& disk = result.settled.disk;
    report_.add(key, result.disk_bytes_per_span(), workload + ", " + spans + ", everything in the data directory");
    report_.add(std::string(key) + "_wal_mib", static_cast<double>(disk.wal_bytes) / 1048576,
                "of it, write-ahead logs");
    report_.add(std::string(key) + "_preallocated_mib", static_cast<double>(disk.preallocated_bytes) / 1048576,
                "not in it: allocated beyond the ends of files");
  }

  Result<> one_exporter() {
    if (!selected("one")) return {};
    auto result = measure_one_exporter(server_, sink_command(), seed(), kOneExporterRequests);
    if (!result) return result.error();
    const std::string how = std::to_string(kOneExporterRequests) + " requests of 100 spans, one at a time";
    report_.add("ingest.one_exporter_ack_ms_p50", result->ack.p50_ms(), how);
    report_.add("floor.one_exporter_fdatasync_ms_p50", result->sync.p50_ms(),
                "append " + std::to_string(result->request_bytes) + " bytes, fdatasync; between the requests");
    report_.add("floor.one_exporter_drop_ms_p50", result->dropped.p50_ms(),
                "a gRPC server that drops the same requests");
    report_.add("ingest.one_exporter_http_ack_ms_p50", result->http_ack.p50_ms(), "as many requests by OTLP/HTTP");
    report_.add("ingest.one_exporter_ack_over_fdatasync", result->ratio(), "p50 over p50");
    report_.add("ingest.one_exporter_http_ack_over_fdatasync", result->http_ratio(), "p50 over p50");
    report_.add("floor.one_exporter_ack_over_fdatasync", result->least_ratio(),
                "of a server that only receives and syncs");
    report_.add("ingest.one_exporter_spans_per_s", 100e3 / result->ack.p50_ms(), "");
    return {};
  }

  Result<> ack() {
    if (!selected("ack")) return {};
    double highest = options_.real("--rate") > 0 ? options_.real("--rate") : highest_rate_;
    if (highest <= 0) return invalid("step ack needs step shop, or --rate");
    auto server = Server::start(server_);
    if (!server) return server.error();
    auto result = measure_ack((*server)->otlp_grpc(), seed(), highest / 2, options_.real("--ack-seconds"));
    if (!result) return result.error();
    report_.add("ingest.ack_ms_p99", result->ack.p99_ms(),
                "open loop, " + std::to_string(static_cast<uint64_t>(result->spans_per_s)) + " spans/s for " +
                    options_.text("--ack-seconds") + " s");
    report_.add("ingest.ack_ms_p50", result->ack.p50_ms(), "");
    report_.add("ingest.ack_ms_max", result->ack.max_ms(), "");
    report_.add("ingest.ack_refused_requests", static_cast<double>(result->refused), "sent again until taken");
    return {};
  }

  Result<> overload() {
    if (!selected("overload")) return {};
    auto result =
        measure_overload(server_, seed(), options_.real("--overload-seconds"), options_.number("--connections"));
    if (!result) return result.error();
    report_.add("ingest.rss_max_mib", result->rss_max_mib,
                options_.text("--overload-seconds") + " s, " + options_.text("--connections") + " connections");
    report_.add("ingest.overload_spans_per_s", result->spans_per_s, "acknowledged meanwhile");
    report_.add("ingest.overload_refused_requests", static_cast<double>(result->refused),
                "UNAVAILABLE; acknowledged: " + std::to_string(result->requests_acked));
    return {};
  }

  const Options& options_;
  Report& report_;
  ServerOptions server_;
  double highest_rate_ = 0;
};

int run(int argc, char** argv) {
  Options options = make_options();
  if (const auto status = options.parse_or_exit(argc, argv)) return *status;
  Report report("ingest", describe_machine(options.text("--work-directory")).line(), options.command());
  Result<> done = IngestBench(options, report).run();
  return report.finish(done, options.text("--json"));
}

}  // namespace
}  // namespace fathom::bench

int main(int argc, char** argv) {
  // bench-ingest is also the server that drops everything: "bench-ingest sink --ready-fd N".
  if (argc == 4 && std::strcmp(argv[1], "sink") == 0) return fathom::bench::run_grpc_sink(std::atoi(argv[3]));
  return fathom::bench::run(argc, argv);
}

#include "bench/ingest_steps.h"

#include "base/time.h"
#include "bench/load_client.h"
#include "bench/progress.h"
#include "net/http_client.h"

namespace fathom::bench {

namespace {

constexpr uint64_t kBackfillPeriodNano = 80'000;  // event time of closed-loop load: 100,000 shop spans a second
constexpr size_t kClosedLoopInFlight = 32;
constexpr double kFloorOpenLoopSeconds = 10;
constexpr size_t kOverloadInFlightPerConnection = 8;

// Traces that began in the past, so that the last one has ended by now.
Schedule past_schedule(uint64_t traces) {
  return {now_unix_nano() - traces * kBackfillPeriodNano - kNanosPerHour, kBackfillPeriodNano};
}

double seconds_since(uint64_t monotonic_nano) {
  return static_cast<double>(now_monotonic_nano() - monotonic_nano) / 1e9;
}

Result<> check(const LoadCounts& counts, uint64_t spans_sent) {
  if (counts.failed != 0)
    return internal(std::to_string(counts.failed) + " requests failed, the first with: " + counts.first_failure);
  if (counts.spans_acked != spans_sent)
    return internal("acknowledged " + std::to_string(counts.spans_acked) + " of " + std::to_string(spans_sent));
  return {};
}

struct ClosedLoop {
  uint64_t spans = 0;
  double wall_seconds = 0;
  LoadCounts counts;
};

Result<ClosedLoop> run_closed_loop(const std::string& target, const Workload& workload, uint64_t traces) {
  LoadClient client({target, 2, kClosedLoopInFlight});
  Exporters exporters(workload, 0, traces);
  uint64_t spans = traces * workload.spans_per_trace();
  Progress progress(std::string(workload_name(workload.shape())) + " spans", spans);
  uint64_t begin = now_monotonic_nano();
  send_closed_loop(exporters, client, [&](uint64_t sent) { progress.at(sent); });
  ClosedLoop result{spans, seconds_since(begin), client.counts()};
  if (Result<> fine = check(result.counts, spans); !fine) return fine.error();
  return result;
}

// Sends a request by OTLP/HTTP. Returns the time from its first byte to the last byte of the acknowledgement.
Result<uint64_t> post_nano(net::HttpClient& client, const ExportRequest& request) {
  const std::string body = std::string(request.head) + std::string(request.body);
  const uint64_t began_nano = now_monotonic_nano();
  Result<net::HttpReply> reply = client.post("/v1/traces", "application/x-protobuf", body);
  if (!reply) return reply.error();
  if (reply->status != 200) return unavailable("a request by HTTP failed: " + std::to_string(reply->status));
  return now_monotonic_nano() - began_nano;
}

// Returns its address.
Result<std::string> start_sink(ChildProcess& sink, const std::vector<std::string>& command) {
  auto line = sink.start({command, {}, "/dev/null"});
  return line ? address_in(*line, "otlp_grpc") : line.error();
}

}  // namespace

Result<Throughput> measure_throughput(const ServerOptions& options, Shape shape, uint64_t seed, uint64_t spans) {
  uint64_t traces = spans / (shape == Shape::kShop ? kPositions : 1);
  Workload workload(shape, seed, past_schedule(traces));
  auto server = Server::start(options);
  if (!server) return server.error();
  auto load = run_closed_loop((*server)->otlp_grpc(), workload, traces);
  if (!load) return load.error();
  auto settled = (*server)->settle_and_stop();
  if (!settled) return settled.error();
  return Throughput{load->spans, load->wall_seconds, *settled, load->counts.refused};
}

Result<AckLatency> measure_ack(const std::string& otlp_grpc, uint64_t seed, double spans_per_s, double seconds) {
  auto period = static_cast<uint64_t>(kPositions * 1e9 / spans_per_s);
  Workload workload(Shape::kShop, seed, {now_unix_nano(), period});
  Exporters exporters(workload, 0, UINT64_MAX / 2);
  LoadClient client({otlp_grpc, kServices, SIZE_MAX});
  Progress progress("open loop, requests", static_cast<uint64_t>(spans_per_s * seconds) / kSpansPerRequest);
  uint64_t begin = now_monotonic_nano();
  send_live(exporters, client, [&] {
    progress.at(client.counts().requests_acked);
    return seconds_since(begin) < seconds && client.counts().failed == 0;
  });
  if (Result<> fine = check(client.counts(), exporters.traces_begun() * kPositions); !fine) return fine.error();
  return AckLatency{spans_per_s, client.counts().refused, client.counts().ack};
}

Result<OneExporter> measure_one_exporter(const ServerOptions& options, const std::vector<std::string>& sink_command,
                                         uint64_t seed, uint64_t requests) {
  constexpr uint32_t kSpans = 100;
  auto server = Server::start(options);
  if (!server) return server.error();
  ChildProcess sink;
  auto sink_address = start_sink(sink, sink_command);
  if (!sink_address) return sink_address.error();
  const uint64_t traces = 2 * requests * kSpans / kPositions + 1;
  Workload workload(Shape::kShop, seed, past_schedule(traces));
  Exporters exporters(workload, 0, traces, {}, kSpans);
  LoadClient client({(*server)->otlp_grpc(), 1, 1}), sink_client({*sink_address, 1, 1});
  net::HttpClient http_client((*server)->otlp_http());
  SyncedFile file((*server)->data_directory() + "/..");
  OneExporter result;
  ExportRequest request;
  for (uint64_t sent = 0; sent < requests && exporters.next(request) && client.counts().failed == 0; ++sent) {
    result.request_bytes = request.head.size() + request.body.size();
    for (LoadClient* each : {&client, &sink_client}) {
      each->send(request, now_monotonic_nano());
      each->drain();
    }
    std::optional<uint64_t> took_nano = file.append_nano(result.request_bytes);
    if (!took_nano) return unavailable("cannot append to a file beside the data directory");
    result.sync.record(*took_nano);
    if (!exporters.next(request)) break;
    Result<uint64_t> posted_nano = post_nano(http_client, request);
    if (!posted_nano) return posted_nano.error();
    result.http_ack.record(*posted_nano);
  }
  if (client.counts().failed != 0) return internal("a request failed: " + client.counts().first_failure);
  result.ack = client.counts().ack;
  result.dropped = sink_client.counts().ack;
  return result;
}

Result<Overload> measure_overload(const ServerOptions& options, uint64_t seed, double seconds, size_t connections) {
  auto server = Server::start(options);
  if (!server) return server.error();
  Workload workload(Shape::kShop, seed, {now_unix_nano() - kNanosPerHour, kBackfillPeriodNano});
  Exporters exporters(workload, 0, UINT64_MAX / 2);
  LoadClient client({(*server)->otlp_grpc(), connections, connections * kOverloadInFlightPerConnection, false});
  Progress progress("overload, seconds", static_cast<uint64_t>(seconds));
  uint64_t begin = now_monotonic_nano();
  ExportRequest request;
  while (seconds_since(begin) < seconds && client.counts().failed == 0 && exporters.next(request)) {
    client.send(request, now_monotonic_nano());
    progress.at(static_cast<uint64_t>(seconds_since(begin)));
  }
  double wall_seconds = seconds_since(begin);
  client.drain();
  const LoadCounts& counts = client.counts();
  if (counts.failed != 0) return internal("a request failed under overload: " + counts.first_failure);
  if (!(*server)->process().running()) return unavailable("the server died under overload");
  return Overload{(*server)->process().rss_max_mib(), static_cast<double>(counts.spans_acked) / wall_seconds,
                  counts.requests_acked, counts.refused};
}

Result<GrpcFloor> measure_grpc_floor(const std::vector<std::string>& sink_command, uint64_t spans) {
  ChildProcess sink;
  auto target = start_sink(sink, sink_command);
  if (!target) return target.error();
  double cpu_before = sink.cpu_seconds();
  uint64_t traces = spans / kPositions;
  Workload workload(Shape::kShop, 1, past_schedule(traces));
  auto load = run_closed_loop(*target, workload, traces);
  if (!load) return load.error();
  double cpu = sink.cpu_seconds() - cpu_before;
  auto count = static_cast<double>(load->spans);
  double rate = count / load->wall_seconds;
  auto open_loop = measure_ack(*target, 1, rate / 4, kFloorOpenLoopSeconds);
  if (!open_loop) return open_loop.error();
  return GrpcFloor{rate, count / cpu, *open_loop};
}

}  // namespace fathom::bench

// The measurements of bench-ingest, each on a server of its own.
//
// Thread safety: one thread. Units: in names. Errors: a request that failed, a server that died, a span that was not
// acknowledged: the step has no result then, because a figure of a broken run is worse than none.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "bench/latencies.h"
#include "bench/server.h"
#include "bench/workload.h"

namespace fathom::bench {

struct Throughput {
  uint64_t spans = 0;
  double wall_seconds = 0;  // from the first request to the last acknowledgement
  Server::Settled settled;
  uint64_t refused = 0;
  double bytes_sent = 0;

  double spans_per_s() const { return static_cast<double>(spans) / wall_seconds; }
  double spans_per_s_per_core() const { return static_cast<double>(spans) / settled.cpu_seconds; }
  double disk_bytes_per_span() const { return static_cast<double>(settled.disk.bytes) / static_cast<double>(spans); }
};
// Closed loop: `spans` as fast as the server takes them, then until all is sealed and compacted.
Result<Throughput> measure_throughput(const ServerOptions& server, Shape shape, uint64_t seed, uint64_t spans);

struct AckLatency {
  double spans_per_s = 0;
  uint64_t refused = 0;
  Latencies ack;  // from when the request's last span ended
};
// Open loop: each exporter sends when its 512th span has ended; `spans_per_s` over all.
Result<AckLatency> measure_ack(const std::string& otlp_grpc, uint64_t seed, double spans_per_s, double seconds);

struct OneExporter {
  Latencies ack;
  Latencies http_ack;  // of other requests, by OTLP/HTTP
  Latencies sync;      // append and fdatasync of as many bytes, between the requests
  Latencies dropped;   // the same requests, acknowledged by a gRPC server that drops them
  size_t request_bytes = 0;
  double ratio() const { return ack.p50_ms() / sync.p50_ms(); }
  double http_ratio() const { return http_ack.p50_ms() / sync.p50_ms(); }
  // Of a server that would only receive and sync.
  double least_ratio() const { return (dropped.p50_ms() + sync.p50_ms()) / sync.p50_ms(); }
};
// One exporter that sends `requests` requests of 100 spans by gRPC, as many by HTTP, one after the other, and waits for
// each acknowledgement. `sink_command`: as below.
Result<OneExporter> measure_one_exporter(const ServerOptions& server, const std::vector<std::string>& sink_command,
                                         uint64_t seed, uint64_t requests);

struct Overload {
  double rss_max_mib = 0;
  double spans_per_s = 0;  // acknowledged meanwhile
  uint64_t requests_acked = 0;
  uint64_t refused = 0;
};
// Many connections, each with several requests under way, none of which waits after a refusal.
Result<Overload> measure_overload(const ServerOptions& server, uint64_t seed, double seconds, size_t connections);

struct GrpcFloor {
  double spans_per_s = 0;
  double spans_per_s_per_core = 0;
  AckLatency open_loop;  // at a quarter of the rate, for ten seconds
};
// The same load against a gRPC server that drops it. `sink_command` starts one.
Result<GrpcFloor> measure_grpc_floor(const std::vector<std::string>& sink_command, uint64_t spans);

}  // namespace fathom::bench

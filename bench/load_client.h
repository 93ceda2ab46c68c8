// A client that sends ready-made OTLP requests over gRPC, many at a time, and measures their acknowledgements.
//
// Purpose: load without protobuf objects. Closed loop: send() waits while `in_flight` requests are under way. Open
// loop: the caller says when each request was due, and its latency counts from then, so that a stall of the server (or
// of this client) is seen by every request that it delays. Thread safety: one thread per client. Ownership: send()
// copies the request. Units: CLOCK_MONOTONIC nanoseconds. Errors: refusals (UNAVAILABLE) are counted, and tried again
// when asked; all else is counted as failed, with the first message kept.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "bench/exporters.h"
#include "bench/latencies.h"

namespace fathom::bench {

struct LoadOptions {
  std::string target;  // HOST:PORT
  size_t connections = 1;
  size_t in_flight = 32;                   // over all connections
  bool retry_refused = true;               // send a refused request again, 50 ms later, until it is taken
  uint64_t give_up_nano = 60'000'000'000;  // a request that is still refused then has failed
};

struct LoadCounts {
  uint64_t requests_acked = 0;
  uint64_t spans_acked = 0;
  uint64_t refused = 0;
  uint64_t failed = 0;
  std::string first_failure;
  Latencies ack;  // from due to acknowledged
};

class LoadClient {
 public:
  explicit LoadClient(LoadOptions options);
  ~LoadClient();

  void send(const ExportRequest& request, uint64_t due_monotonic_nano);
  // Serves completions until `monotonic_nano`.
  void serve_until(uint64_t monotonic_nano);
  // Serves completions until nothing is under way.
  void drain();
  const LoadCounts& counts() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Sends all that `exporters` give, as fast as the server takes it. `progress` is told the spans sent so far, often.
void send_closed_loop(Exporters& exporters, LoadClient& client, const std::function<void(uint64_t)>& progress);
// Sends each request when its last span ends: event time is the wall clock. `go_on` is asked before each request; once
// it says no, what is pending is sent at once.
void send_live(Exporters& exporters, LoadClient& client, const std::function<bool()>& go_on);

}  // namespace fathom::bench

// What TLS costs between agents and the server: the same load with it and without, one after the other.
//
// Thread safety: one thread. Units: in names. Errors: as span_steps.h; kUnavailable where openssl(1), which makes the
// certificate, is not installed.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "bench/server.h"

namespace fathom::bench {

struct RelayCost {
  double spans_per_s = 0;      // acknowledged, by the wall
  double cpu_us_per_span = 0;  // of agent and server
};
struct Relay {
  RelayCost plain;
  RelayCost tls;
};
// Two programs write `rate` spans a second together, more than the server takes, through an agent into a new server.
Result<Relay> measure_relay(const ServerOptions& server, uint64_t rate, double seconds);

}  // namespace fathom::bench

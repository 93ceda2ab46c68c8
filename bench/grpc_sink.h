// The floor under every ingest figure: a gRPC server that takes any request's bytes, drops them, and acknowledges.
//
// Purpose: what gRPC and the kernel cost here, before a single span is looked at. Thread safety: run it once per
// process.
#pragma once

namespace fathom::bench {

// Serves on a free port of 127.0.0.1, writes {"otlp_grpc":"HOST:PORT"} and a newline to `ready_fd`, until SIGTERM.
int run_grpc_sink(int ready_fd);

}  // namespace fathom::bench

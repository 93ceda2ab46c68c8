// A process that serves one gRPC service until SIGTERM: what the sinks of the benchmarks have in common.
// Thread safety: run it once per process.
#pragma once

#include <grpcpp/grpcpp.h>

#include <functional>
#include <string>

namespace fathom::bench {

// Serves what `add_service` registers on a free port of 127.0.0.1 and writes {"KEY":"HOST:PORT"} and a newline to
// `ready_fd`. Calls that are under way at SIGTERM are cut off. The process's exit code.
int run_sink(const std::string& key, int ready_fd, const std::function<void(grpc::ServerBuilder&)>& add_service);

}  // namespace fathom::bench

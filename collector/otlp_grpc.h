// OtlpGrpcServer: OTLP over gRPC, with the standard health service and, where no tokens are asked for, reflection.
//
// Purpose: requests come out of gRPC as bytes and go into Ingest as bytes; no protobuf object is ever made of one.
// gRPC's own compression is switched off, because it has no limit on what comes out; compressed messages are recognised
// by their first bytes and inflated here, within the limits. What gRPC buffers is bounded by its resource quota.
// Thread safety: start() and stop() from one thread. Errors: start() fails with a message that names the address.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/result.h"
#include "collector/ingest.h"
#include "net/listener_security.h"

namespace fathom::collector {

struct OtlpGrpcOptions {
  std::string address = "127.0.0.1:4317";
  // What gRPC may hold in messages that are not complete yet. A message that does not fit is cut off.
  uint64_t buffer_bytes = 192ull << 20;
  uint64_t connection_age_nano = 0;  // of the limits of net/grpc_limits.h, as the next is
  uint64_t connection_grace_nano = 0;
  net::ListenerSecurity security;
};

class OtlpGrpcServer {
 public:
  OtlpGrpcServer(OtlpGrpcOptions options, std::shared_ptr<Ingest> ingest);
  ~OtlpGrpcServer();  // stop(0)

  Result<std::string> start();  // the bound "HOST:PORT"
  void stop(uint64_t grace_nano);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace fathom::collector

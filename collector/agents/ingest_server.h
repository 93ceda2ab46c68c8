// IngestServer: the listener of the agents' stream, and of the calls beside it, over gRPC.
//
// Purpose: messages come out of gRPC as bytes and go to an AgentSession as bytes; this side only moves them. What gRPC
// buffers is bounded by its resource quota, what is parsed by Ingest's budget, what waits to be read by the agent by a
// count of messages and of bytes. A dead connection is noticed within a quarter of a minute. Streams whose token is
// none any more end when other tokens are in use. Thread safety: start() and stop() from one thread, which is that of
// Tokens::use(), too. Ownership: `context` is shared with the sessions. Errors: start() fails with a message that
// names the address.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/result.h"
#include "collector/agents/session.h"
#include "collector/agents/snapshot_intake.h"
#include "net/listener_security.h"

namespace fathom::collector {

struct IngestServerOptions {
  std::string address;
  uint64_t buffer_bytes = 128ull << 20;  // what gRPC may hold in messages that are not complete yet
  size_t max_streams = 4096;
  uint64_t hello_nano = 10 * kNanosPerSecond;
  uint64_t silence_nano = 60 * kNanosPerSecond;         // without a whole message; agents report every five seconds
  std::shared_ptr<SnapshotIntake> snapshots = nullptr;  // null: no snapshots are taken
  net::ListenerSecurity security = {};
};

class IngestServer {
 public:
  IngestServer(IngestServerOptions options, SessionContext context);
  ~IngestServer();  // stop(0)

  Result<std::string> start();  // the bound "HOST:PORT"
  // Batches under way are answered for `grace_nano`; agents come back to whoever listens here next.
  void stop(uint64_t grace_nano);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace fathom::collector

// QueryServer: fathom's query face, JSON over HTTP and (when asked for) gRPC, over any stores.
//
// Purpose: one object that a program starts beside its collector; docs/api.md describes what it answers. Queries run on
// threads of their own, with a bounded queue in front; each has a deadline, a byte budget and is cancelled when its
// asker goes away. Thread safety: start(), stop() and set_ready() from one thread; all else happens on the server's
// threads. Ownership: the stores must outlive the QueryServer. Errors: start() fails with a message that names the
// address. Metrics: fathom_query_*; losses: fathom_query_refused_total{reason},
// fathom_http_refused_total{listener="query"}.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "base/result.h"
#include "base/settable.h"
#include "net/audit_log.h"
#include "net/listener_security.h"
#include "query/control.h"
#include "query/nodes.h"
#include "query/page_files.h"
#include "query/purge/purge_desk.h"
#include "query/stores.h"

namespace fathom::query {

struct QueryOptions {
  std::string http_address = "127.0.0.1:0";
  std::string grpc_address;  // empty: no gRPC listener
  // Then a gRPC connection's peer is asked to come anew; calls under way have max_deadline_nano from then on. 0: never.
  uint64_t grpc_connection_age_nano = 300'000'000'000;
  size_t threads = 2;           // for short queries, and as many for long ones; HTTP has its own
  size_t queue = 64;            // queries that may wait for a thread; more are answered 503 with Retry-After
  size_t snapshot_workers = 2;  // questions about snapshots that are worked out at the same time, each by a process
  Settable<uint64_t> deadline_nano = 10'000'000'000;   // of a query that names no timeout; waiting counts
  uint64_t max_deadline_nano = 60'000'000'000;         // the longest timeout that may be asked for
  Settable<uint64_t> byte_budget = uint64_t{1} << 30;  // bytes one query may read and hold
  uint64_t answer_bytes = uint64_t{256} << 20;         // large answers that are not read yet, all together
  std::string version = "dev";                         // shown by /api/v1/status
  NodeSource nodes;                                    // of /api/v1/nodes; nothing: there are none
  std::shared_ptr<const PageFiles> page;               // nothing: a browser is told how to get one
  net::ListenerSecurity security;                      // of both listeners
  std::shared_ptr<net::AuditLog> audit;                // gets each request that needs a token; nothing: none is kept
  std::shared_ptr<Control> control;                    // what nodes are asked through; nothing: they cannot be
  std::shared_ptr<PurgeDesk> purge_desk;               // takes requests for a purge; nothing: there is none
};

class QueryServer {
 public:
  QueryServer(QueryOptions options, const Stores& stores);
  ~QueryServer();  // stop(0)

  // Binds and serves; returns the bound HTTP address, "HOST:PORT".
  Result<std::string> start();
  // The bound gRPC address; empty without that listener or before start().
  std::string grpc_address() const;
  // What /readyz says while the store is writable; false until somebody says otherwise: what else a program listens on
  // should be up by then. False again from stop() on.
  void set_ready(bool ready);
  // Takes deadline_nano (which max_deadline_nano still bounds) and byte_budget of `options`, for queries to come.
  void set_limits(const QueryOptions& options);
  // Stops accepting, lets queries under way finish for `grace_nano`, cancels the rest.
  void stop(uint64_t grace_nano);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace fathom::query

// GrpcFace: the query service over gRPC (proto/query.proto), on a listener of its own, with server
// reflection where no tokens are asked for.
//
// Thread safety: start() and stop() from one thread. Ownership: stores, runner and budget outlive it. Errors:
// kUnavailable when the address cannot be had. A call's deadline and its cancellation become the query's. Messages that
// are none of this service's, and calls of other methods, are answered with words and counted
// (fathom_query_refused_total).
#pragma once

#include <memory>
#include <string>

#include "base/byte_budget.h"
#include "base/result.h"
#include "query/query_server.h"
#include "query/runner.h"
#include "query/stores.h"

namespace fathom::query {

class GrpcFace {
 public:
  // Listens at grpc_address of `options`. Large answers take their memory from `answers` until they are sent.
  GrpcFace(const QueryOptions& options, const Stores& stores, QueryRunner& runner, ByteBudget& answers);
  ~GrpcFace();  // stop(0)

  // Binds and serves; returns the bound "HOST:PORT".
  Result<std::string> start();
  void stop(uint64_t grace_nano);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace fathom::query

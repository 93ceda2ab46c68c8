#include "query/query_server.h"

#include <algorithm>

#include "base/byte_budget.h"
#include "base/in_flag.h"
#include "base/metrics.h"
#include "base/time.h"
#include "net/http_server.h"
#include "query/grpc_face.h"
#include "query/http_face.h"
#include "query/runner.h"

namespace fathom::query {

namespace {

constexpr size_t kHttpThreads = 1;  // they parse and copy; queries run elsewhere

}  // namespace

struct QueryServer::Impl {
  Impl(QueryOptions query_options, const Stores& stores)
      : options(std::move(query_options)),
        answers(std::make_shared<ByteBudget>(
            options.answer_bytes,
            &gauge("fathom_query_answer_bytes", "Memory of large answers that are not read yet."))),
        runner(options, Scheduling::kTurns),
        face(std::make_shared<HttpFace>(options, stores, runner)),
        http({.listener = "query",
              .address = options.http_address,
              .threads = kHttpThreads,
              .answers = answers,
              .security = options.security},
             face),
        grpc(options, stores, runner, *answers) {}

  const QueryOptions options;
  const std::shared_ptr<ByteBudget> answers;
  QueryRunner runner;
  std::shared_ptr<HttpFace> face;
  net::HttpServer http;
  GrpcFace grpc;
  std::string grpc_address;
};

QueryServer::QueryServer(QueryOptions options, const Stores& stores)
    : impl_(std::make_unique<Impl>(std::move(options), stores)) {}

QueryServer::~QueryServer() {
  stop(0);
}

Result<std::string> QueryServer::start() {
  if (!impl_->options.grpc_address.empty()) {
    auto bound = in_flag("--query-grpc", impl_->grpc.start());
    if (!bound) return bound;
    impl_->grpc_address = *bound;
  }
  return in_flag("--http", impl_->http.start());
}

std::string QueryServer::grpc_address() const {
  return impl_->grpc_address;
}

void QueryServer::set_limits(const QueryOptions& options) {
  impl_->runner.set_limits(options);
}

void QueryServer::set_ready(bool ready) {
  impl_->face->set_ready(ready);
}

// The listeners first, while queries can still end by themselves; then whatever is left is cancelled.
void QueryServer::stop(uint64_t grace_nano) {
  uint64_t end = now_monotonic_nano() + grace_nano;
  set_ready(false);
  impl_->http.stop(grace_nano);
  impl_->grpc.stop(end - std::min(end, now_monotonic_nano()));
  impl_->runner.stop();
  impl_->face->stop();
}

}  // namespace fathom::query

#include "collector/collector.h"

#include <utility>

#include "collector/ingest.h"
#include "collector/otlp_grpc.h"
#include "collector/otlp_http.h"
#include "net/http_server.h"

namespace fathom::collector {

namespace {

IngestOptions ingest_options(const CollectorOptions& options) {
  return {options.max_request_bytes, options.budget_bytes, options.retry_delay_nano, options.limits};
}

net::HttpServerOptions http_options(const CollectorOptions& options) {
  net::HttpServerOptions http;
  http.listener = "otlp_http";
  http.address = options.otlp_http_address;
  http.threads = options.http_threads;
  return http;
}

}  // namespace

struct Collector::Impl {
  Impl(CollectorOptions given, store::SpanStore& store)
      : options(std::move(given)), ingest(std::make_shared<Ingest>(ingest_options(options), store)) {}

  Result<> start_grpc(CollectorAddresses& addresses) {
    if (options.otlp_grpc_address.empty()) return {};
    grpc = std::make_unique<OtlpGrpcServer>(
        OtlpGrpcOptions{options.otlp_grpc_address, options.grpc_buffer_bytes, options.grpc_connection_age_nano,
                        options.grpc_connection_grace_nano},
        ingest);
    return bound(grpc->start(), addresses.otlp_grpc);
  }
  Result<> start_http(CollectorAddresses& addresses) {
    if (options.otlp_http_address.empty()) return {};
    http = std::make_unique<net::HttpServer>(http_options(options),
                                             make_otlp_http_handler(ingest, options.cors_allow_origin));
    return bound(http->start(), addresses.otlp_http);
  }
  static Result<> bound(Result<std::string> started, std::string& address) {
    if (!started.ok()) return started.error();
    address = std::move(started).value();
    return {};
  }
  void stop(uint64_t grace_nano) {
    if (grpc != nullptr) grpc->stop(grace_nano);
    if (http != nullptr) http->stop(grace_nano);
    grpc.reset();
    http.reset();
  }

  const CollectorOptions options;
  std::shared_ptr<Ingest> ingest;
  std::unique_ptr<OtlpGrpcServer> grpc;
  std::unique_ptr<net::HttpServer> http;
};

Collector::Collector(CollectorOptions options, store::SpanStore& store)
    : impl_(std::make_unique<Impl>(std::move(options), store)) {}

Collector::~Collector() {
  stop(0);
}

Result<CollectorAddresses> Collector::start() {
  CollectorAddresses addresses;
  Result<> started = impl_->start_grpc(addresses);
  if (started.ok()) started = impl_->start_http(addresses);
  if (started.ok()) return addresses;
  impl_->stop(0);
  return started.error();
}

void Collector::stop(uint64_t grace_nano) {
  impl_->stop(grace_nano);
}

}  // namespace fathom::collector

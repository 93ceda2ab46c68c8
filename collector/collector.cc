#include "collector/collector.h"

#include <algorithm>
#include <utility>

#include "base/in_flag.h"
#include "base/log.h"
#include "collector/agents/ingest_server.h"
#include "collector/ingest.h"
#include "collector/otlp_grpc.h"
#include "collector/otlp_http.h"
#include "ingest/limits.h"
#include "net/http_server.h"

namespace fathom::collector {

namespace {

// Once as it came, four times decoded.
static_assert(kLeastBudgetBytes >= 5 * ingest::kBatchBytesBeforeWelcome);

IngestOptions ingest_options(const CollectorOptions& options) {
  return {options.max_request_bytes, options.budget_bytes, options.retry_delay_nano, options.limits,
          options.observer,          options.redactor};
}

// Over the wire twice and decoded four times, a batch of half of it fits the budget; so many are four of it.
constexpr uint64_t kBudgetPerBatch = 4;

SessionLimits session_limits(const CollectorOptions& options) {
  SessionLimits limits;
  limits.collector_version = options.version;
  // Not what OTLP requests may have: agents cannot make their batches as small as any exporter. But so small that the
  // budget has room for one that agents make of it, half as large: twice over the wire and four times decoded.
  limits.max_batch_bytes =
      std::clamp(options.budget_bytes / kBudgetPerBatch, ingest::kBatchBytesBeforeWelcome, limits.max_batch_bytes);
  return limits;
}

CaptureIntakeOptions intake_options(const CollectorOptions& options) {
  CaptureIntakeOptions intake;
  intake.budget_bytes = options.capture_budget_bytes;
  intake.most_bytes = options.max_capture_bytes;
  intake.retry_delay_nano = options.retry_delay_nano;
  return intake;
}

net::HttpServerOptions http_options(const CollectorOptions& options) {
  net::HttpServerOptions http;
  http.listener = "otlp_http";
  http.address = options.otlp_http_address;
  http.threads = options.http_threads;
  http.security = options.security;
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
                        options.grpc_connection_grace_nano, options.security},
        ingest);
    return bound(in_flag("--otlp-grpc", grpc->start()), addresses.otlp_grpc);
  }
  Result<> start_http(CollectorAddresses& addresses) {
    if (options.otlp_http_address.empty()) return {};
    http = std::make_unique<net::HttpServer>(http_options(options),
                                             make_otlp_http_handler(ingest, options.cors_allow_origin));
    return bound(in_flag("--otlp-http", http->start()), addresses.otlp_http);
  }
  Result<> start_ingest(CollectorAddresses& addresses) {
    if (options.ingest_address.empty()) return {};
    snapshots = std::make_shared<SnapshotIntake>(SnapshotIntakeOptions{.retry_delay_nano = options.retry_delay_nano},
                                                 options.snapshots);
    agents = std::make_unique<IngestServer>(IngestServerOptions{.address = options.ingest_address,
                                                                .buffer_bytes = options.ingest_buffer_bytes,
                                                                .snapshots = snapshots,
                                                                .security = options.security},
                                            session_context());
    return bound(in_flag("--ingest", agents->start()), addresses.ingest);
  }
  SessionContext session_context() {
    if (options.captures != nullptr)
      captures = std::make_shared<CaptureIntake>(intake_options(options), *options.captures);
    SessionContext context{ingest, options.nodes, session_limits(options)};
    if (!context.nodes) context.nodes = std::make_shared<NodeRegistry>();
    context.captures = captures;
    context.streams = options.streams;
    context.answers = options.answers;
    context.keys = options.keys;
    context.redaction = options.agent_redaction;
    take_reports();
    return context;
  }
  // Reports of nodes that were not asked go to the intake, as agents' reports do.
  void take_reports() {
    if (!captures || !options.answers) return;
    options.answers->set_skipped_sink([weak = std::weak_ptr(captures)](std::vector<store::SkippedCapture> skipped) {
      if (auto intake = weak.lock()) intake->put_skipped(std::move(skipped));
    });
  }
  static Result<> bound(Result<std::string> started, std::string& address) {
    if (!started.ok()) return started.error();
    address = std::move(started).value();
    return {};
  }
  void stop(uint64_t grace_nano) {
    if (agents != nullptr) agents->stop(grace_nano);
    if (grpc != nullptr) grpc->stop(grace_nano);
    if (http != nullptr) http->stop(grace_nano);
    if (captures != nullptr) captures->stop();  // streams are over, and the store may be next
    if (snapshots != nullptr) snapshots->stop();
    agents.reset();
    grpc.reset();
    http.reset();
  }

  const CollectorOptions options;
  std::shared_ptr<Ingest> ingest;
  std::shared_ptr<CaptureIntake> captures;
  std::shared_ptr<SnapshotIntake> snapshots;
  std::unique_ptr<IngestServer> agents;
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
  if (started.ok()) started = impl_->start_ingest(addresses);
  if (started.ok()) return addresses;
  impl_->stop(0);
  return started.error();
}

void Collector::set_limits(const CollectorOptions& options) {
  IngestOptions limits = ingest_options(options);
  const uint64_t least =
      std::min(impl_->options.budget_bytes, kBudgetPerBatch * session_limits(impl_->options).max_batch_bytes);
  if (options.budget_bytes < least) {
    log_warning("--ingest-memory: " + std::to_string(least) +
                " bytes at least before a restart, for batches that agents were told they may make");
    limits.budget_bytes = least;
  }
  impl_->ingest->set_limits(limits);
}

void Collector::stop(uint64_t grace_nano) {
  impl_->stop(grace_nano);
}

}  // namespace fathom::collector

#include "collector/agents/ingest_server.h"

#include <chrono>
#include <utility>
#include <vector>

#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>

#include "base/metrics.h"
#include "collector/agents/snapshot_calls.h"
#include "collector/agents/stream.h"
#include "ingest.grpc.pb.h"
#include "net/grpc_door.h"
#include "net/grpc_limits.h"
#include "net/http_server.h"

namespace fathom::collector {

namespace {

using Service = fathom::ingest::v1::Ingest;

// Large frames: a batch is a megabyte, and every frame costs the agent time.
constexpr int kFrameBytes = 1 << 20;

class RefusedStream : public grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  explicit RefusedStream(const grpc::Status& why) { Finish(why); }
  void OnDone() override { delete this; }
};

// The streams that live, so that stop() can let them end, and whose token is none any more.
class IngestService : public Service::WithRawCallbackMethod_Stream<Service::WithRawCallbackMethod_PutSnapshotPiece<
                          Service::WithRawCallbackMethod_MissingImages<Service::Service>>> {
 public:
  IngestService(const IngestServerOptions& options, const net::GrpcDoor& door, SessionContext context)
      : options_(options), door_(door), context_(std::make_shared<const SessionContext>(std::move(context))) {
    open_.set(0);
    refused_.add(0);
    list_session_metrics();
  }

  grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* Stream(grpc::CallbackServerContext* call) override {
    std::optional<grpc::Status> refusal;
    if (AgentStream* stream = admit(*call, refusal)) return stream;
    refused_.add();
    return new RefusedStream(*refusal);
  }

  grpc::ServerUnaryReactor* PutSnapshotPiece(grpc::CallbackServerContext* call, const grpc::ByteBuffer* request,
                                             grpc::ByteBuffer* response) override {
    if (auto refusal = door_.refusal(*call)) return finished(*call, *refusal);
    return answer_snapshot_call(options_.snapshots, &SnapshotIntake::put, *call, *request, *response);
  }
  grpc::ServerUnaryReactor* MissingImages(grpc::CallbackServerContext* call, const grpc::ByteBuffer* request,
                                          grpc::ByteBuffer* response) override {
    if (auto refusal = door_.refusal(*call)) return finished(*call, *refusal);
    return answer_snapshot_call(options_.snapshots, &SnapshotIntake::missing, *call, *request, *response);
  }

  // Who came with a token that is none any more: the agent comes anew, and is refused until it has another.
  void end_refused() {
    std::vector<std::pair<std::shared_ptr<AgentStream>, std::string>> ended;
    {
      std::lock_guard lock(mutex_);  // with which the calls live
      for (const auto& [key, open] : streams_) {
        auto refusal = door_.refusal(*open.call);
        auto alive = open.stream.lock();
        if (refusal && alive) ended.emplace_back(std::move(alive), refusal->error_message());
      }
    }
    for (const auto& [stream, why] : ended) stream->revoke(why);
  }

  void drain() {
    std::vector<std::shared_ptr<AgentStream>> streams;
    {
      std::lock_guard lock(mutex_);
      stopping_ = true;
      for (const auto& [key, open] : streams_) {
        if (auto alive = open.stream.lock()) streams.push_back(std::move(alive));
      }
    }
    for (const auto& stream : streams) stream->drain();
  }

 private:
  static grpc::ServerUnaryReactor* finished(grpc::CallbackServerContext& call, const grpc::Status& status) {
    grpc::ServerUnaryReactor* reactor = call.DefaultReactor();
    reactor->Finish(status);
    return reactor;
  }
  // All of it within the lock: who comes while other tokens are read is seen here by these, or by end_refused().
  AgentStream* admit(grpc::CallbackServerContext& call, std::optional<grpc::Status>& refusal) {
    std::lock_guard lock(mutex_);
    refusal = door_.refusal(call);
    if (!refusal && (stopping_ || streams_.size() >= options_.max_streams)) {
      refusal.emplace(grpc::StatusCode::UNAVAILABLE,
                      "the collector has all the agents' streams that it takes, or is ending");
    }
    if (refusal) return nullptr;
    auto stream = std::make_shared<AgentStream>(context_, call, [this](AgentStream* ended) { remove(ended); });
    streams_[stream.get()] = {stream, &call};
    open_.set(static_cast<int64_t>(streams_.size()));
    stream->open(options_.hello_nano, options_.silence_nano);
    return stream.get();
  }
  void remove(AgentStream* stream) {
    std::lock_guard lock(mutex_);
    streams_.erase(stream);
    open_.set(static_cast<int64_t>(streams_.size()));
  }

  struct Open {
    std::weak_ptr<AgentStream> stream;
    grpc::CallbackServerContext* call = nullptr;  // until remove()
  };

  const IngestServerOptions options_;
  const net::GrpcDoor& door_;
  const std::shared_ptr<const SessionContext> context_;
  Gauge& open_ = gauge("fathom_ingest_streams", "Streams of agents that are open");
  Counter& refused_ = counter("fathom_ingest_streams_refused_total", "Streams of agents that were not let in");
  std::mutex mutex_;
  bool stopping_ = false;
  std::map<AgentStream*, Open> streams_;
};

}  // namespace

struct IngestServer::Impl {
  Impl(IngestServerOptions given, SessionContext context)
      : options(std::move(given)),
        door("ingest", options.address, net::Scope::kAgent, options.security),
        service(options, door, std::move(context)) {}

  IngestServerOptions options;
  net::GrpcDoor door;
  IngestService service;
  std::unique_ptr<grpc::Server> server;
  net::Watchers::Watch watch;
};

IngestServer::IngestServer(IngestServerOptions options, SessionContext context)
    : impl_(std::make_unique<Impl>(std::move(options), std::move(context))) {}

IngestServer::~IngestServer() {
  stop(0);
}

Result<std::string> IngestServer::start() {
  const std::string& asked = impl_->options.address;
  auto address = net::split_address(asked);
  if (!address.ok()) return address.error();
  grpc::EnableDefaultHealthCheckService(true);
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  grpc::ServerBuilder builder;
  impl_->door.add_to(builder);
  builder.RegisterService(&impl_->service);
  net::bound(builder, {.name = "ingest",
                       .buffer_bytes = impl_->options.buffer_bytes,
                       .streams = 8,
                       .keepalive_nano = 10'000'000'000,
                       .keepalive_timeout_nano = 5'000'000'000});
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_FRAME_SIZE, kFrameBytes);
  impl_->server = builder.BuildAndStart();
  Result<std::string> bound = impl_->door.open(impl_->server.get());
  if (!bound) impl_->server.reset();
  if (bound) impl_->watch = impl_->door.watch_tokens([impl = impl_.get()] { impl->service.end_refused(); });
  return bound;
}

void IngestServer::stop(uint64_t grace_nano) {
  if (impl_->server == nullptr) return;
  impl_->watch.reset();
  impl_->door.close();
  impl_->service.drain();
  impl_->server->Shutdown(std::chrono::system_clock::now() + std::chrono::nanoseconds(grace_nano));
  impl_->server->Wait();
  impl_->door.end();
  impl_->server.reset();
}

}  // namespace fathom::collector

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

// The streams that live, so that stop() can let them end.
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
    if (auto refusal = door_.refusal(*call)) {
      refused_.add();
      return new RefusedStream(*refusal);
    }
    std::shared_ptr<AgentStream> stream = admit(*call);
    if (stream == nullptr) {
      refused_.add();
      return new RefusedStream(
          {grpc::StatusCode::UNAVAILABLE, "the collector has all the agents' streams that it takes, or is ending"});
    }
    stream->open(options_.hello_nano, options_.silence_nano);
    return stream.get();
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

  void drain() {
    std::vector<std::shared_ptr<AgentStream>> streams;
    {
      std::lock_guard lock(mutex_);
      stopping_ = true;
      for (const auto& [key, stream] : streams_) {
        if (auto alive = stream.lock()) streams.push_back(std::move(alive));
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
  std::shared_ptr<AgentStream> admit(grpc::CallbackServerContext& call) {
    std::lock_guard lock(mutex_);
    if (stopping_ || streams_.size() >= options_.max_streams) return nullptr;
    auto stream = std::make_shared<AgentStream>(context_, call, [this](AgentStream* ended) { remove(ended); });
    streams_[stream.get()] = stream;
    open_.set(static_cast<int64_t>(streams_.size()));
    return stream;
  }
  void remove(AgentStream* stream) {
    std::lock_guard lock(mutex_);
    streams_.erase(stream);
    open_.set(static_cast<int64_t>(streams_.size()));
  }

  const IngestServerOptions options_;
  const net::GrpcDoor& door_;
  const std::shared_ptr<const SessionContext> context_;
  Gauge& open_ = gauge("fathom_ingest_streams", "Streams of agents that are open");
  Counter& refused_ = counter("fathom_ingest_streams_refused_total", "Streams of agents that were not let in");
  std::mutex mutex_;
  bool stopping_ = false;
  std::map<AgentStream*, std::weak_ptr<AgentStream>> streams_;
};

}  // namespace

struct IngestServer::Impl {
  Impl(IngestServerOptions given, SessionContext context)
      : options(std::move(given)),
        door("ingest", options.address, options.security),
        service(options, door, std::move(context)) {}

  IngestServerOptions options;
  net::GrpcDoor door;
  IngestService service;
  std::unique_ptr<grpc::Server> server;
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
  return bound;
}

void IngestServer::stop(uint64_t grace_nano) {
  if (impl_->server == nullptr) return;
  impl_->door.close();
  impl_->service.drain();
  impl_->server->Shutdown(std::chrono::system_clock::now() + std::chrono::nanoseconds(grace_nano));
  impl_->server->Wait();
  impl_->door.end();
  impl_->server.reset();
}

}  // namespace fathom::collector

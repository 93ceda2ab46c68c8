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
#include "net/grpc_limits.h"
#include "net/http_server.h"

namespace fathom::collector {

namespace {

using Service = fathom::ingest::v1::Ingest;

// Large frames: a batch is a megabyte, and every frame costs the agent time.
constexpr int kFrameBytes = 1 << 20;

class RefusedStream : public grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  explicit RefusedStream(const std::string& message) { Finish({grpc::StatusCode::UNAVAILABLE, message}); }
  void OnDone() override { delete this; }
};

// The streams that live, so that stop() can let them end.
class IngestService : public Service::WithRawCallbackMethod_Stream<Service::WithRawCallbackMethod_PutSnapshotPiece<
                          Service::WithRawCallbackMethod_MissingImages<Service::Service>>> {
 public:
  IngestService(const IngestServerOptions& options, SessionContext context)
      : options_(options), context_(std::make_shared<const SessionContext>(std::move(context))) {
    open_.set(0);
    refused_.add(0);
    list_session_metrics();
  }

  grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* Stream(grpc::CallbackServerContext* call) override {
    std::shared_ptr<AgentStream> stream = admit(*call);
    if (stream == nullptr) {
      refused_.add();
      return new RefusedStream("the collector has all the agents' streams that it takes, or is ending");
    }
    stream->open(options_.hello_nano, options_.silence_nano);
    return stream.get();
  }

  grpc::ServerUnaryReactor* PutSnapshotPiece(grpc::CallbackServerContext* call, const grpc::ByteBuffer* request,
                                             grpc::ByteBuffer* response) override {
    return answer_snapshot_call(options_.snapshots, &SnapshotIntake::put, *call, *request, *response);
  }
  grpc::ServerUnaryReactor* MissingImages(grpc::CallbackServerContext* call, const grpc::ByteBuffer* request,
                                          grpc::ByteBuffer* response) override {
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
      : options(std::move(given)), service(options, std::move(context)) {}

  IngestServerOptions options;
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
  int port = 0;
  builder.AddListeningPort(asked, grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(&impl_->service);
  net::bound(builder, {.name = "ingest",
                       .buffer_bytes = impl_->options.buffer_bytes,
                       .streams = 8,
                       .keepalive_nano = 10'000'000'000,
                       .keepalive_timeout_nano = 5'000'000'000});
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_FRAME_SIZE, kFrameBytes);
  impl_->server = builder.BuildAndStart();
  if (impl_->server == nullptr || port == 0) {
    impl_->server.reset();
    return unavailable("cannot listen on " + asked + " for agents; is the port taken?");
  }
  return asked.substr(0, asked.rfind(':') + 1) + std::to_string(port);
}

void IngestServer::stop(uint64_t grace_nano) {
  if (impl_->server == nullptr) return;
  impl_->service.drain();
  impl_->server->Shutdown(std::chrono::system_clock::now() + std::chrono::nanoseconds(grace_nano));
  impl_->server->Wait();
  impl_->server.reset();
}

}  // namespace fathom::collector

#include "collector/otlp_grpc.h"

#include <chrono>
#include <utility>
#include <vector>

#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>

#include "collector/content.h"
#include "collector/grpc_parts.h"
#include "net/grpc_door.h"
#include "net/grpc_limits.h"
#include "net/http_server.h"
#include "otlp/trace_service.grpc.pb.h"

namespace fathom::collector {

namespace {

using TraceService = opentelemetry::proto::collector::trace::v1::TraceService;

constexpr std::string_view kExportMethod = "/opentelemetry.proto.collector.trace.v1.TraceService/Export";

// A message is compressed if it begins as gzip or zlib do. Neither can begin a request: the first would be a field of a
// wire type that does not exist, the second a field that OTLP does not have.
bool is_compressed(std::string_view body) {
  if (body.size() < 2) return false;
  auto first = static_cast<uint8_t>(body[0]);
  auto second = static_cast<uint8_t>(body[1]);
  return (first == 0x1f && second == 0x8b) || (first == 0x78 && (first << 8 | second) % 31 == 0);
}

grpc::Status status_of(const Answer& answer) {
  if (is_success(answer.verdict)) return grpc::Status::OK;
  // The details are a google.rpc.Status; gRPC sends them as grpc-status-details-bin.
  return grpc::Status(static_cast<grpc::StatusCode>(grpc_code(answer.verdict)), answer.message,
                      answer_body(answer, Encoding::kProtobuf));
}

grpc::ByteBuffer bytes_of(const std::string& text) {
  grpc::Slice slice(text);
  return grpc::ByteBuffer(&slice, 1);
}

class ExportService : public TraceService::WithRawCallbackMethod_Export<TraceService::Service> {
 public:
  ExportService(std::shared_ptr<Ingest> ingest, const net::GrpcDoor& door) : ingest_(std::move(ingest)), door_(door) {}

  grpc::ServerUnaryReactor* Export(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                   grpc::ByteBuffer* response) override {
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    if (auto refusal = door_.refusal(*context)) {
      ingest_->refused(Transport::kGrpc, Verdict::kUnauthenticated);
      reactor->Finish(*refusal);
      return reactor;
    }
    // gRPC calls with no message when a stream ended within one; nobody waits for this answer.
    if (!request->Valid()) {
      ingest_->metrics().cut_off();
      reactor->Finish(grpc::Status(grpc::StatusCode::UNAVAILABLE, "the message is incomplete"));
      return reactor;
    }
    // gRPC would keep the message until it is answered; the object is gRPC's and not const there.
    Result<> taken = take_in(const_cast<grpc::ByteBuffer&>(*request), reactor, response);
    if (!taken.ok()) refuse(taken.error(), reactor);
    return reactor;
  }

 private:
  // Hands the request to ingest, which answers; or says why not.
  Result<> take_in(grpc::ByteBuffer& request, grpc::ServerUnaryReactor* reactor, grpc::ByteBuffer* response) {
    if (Result<> fits = check_size(request.Length()); !fits.ok()) return fits;
    // Once as gRPC has it and, for the time of its decoding, once in one piece.
    Reservation slices = ingest_->open(), memory = ingest_->open();
    if (Result<> taken = ingest_->take(slices, request.Length()); !taken.ok()) return taken;
    if (Result<> taken = ingest_->take(memory, request.Length()); !taken.ok()) return taken;
    GrpcMessage message;
    if (Result<> read = message.read(request); !read.ok()) return read;
    slices.release();
    if (is_compressed(message.view())) {
      Result<std::string> text = inflate(*ingest_, message.view(), memory);
      if (!text.ok()) return text.error();
      message.replace(std::move(text).value());
    }
    ingest_->submit(Transport::kGrpc, Encoding::kProtobuf, message.view(), std::move(memory),
                    [reactor, response](const Answer& answer) {
                      *response = bytes_of(is_success(answer.verdict) ? answer_body(answer, Encoding::kProtobuf) : "");
                      reactor->Finish(status_of(answer));
                    });
    return {};
  }

  Result<> check_size(uint64_t bytes) const {
    uint64_t limit = ingest_->options().max_request_bytes;
    if (bytes <= limit) return {};
    return exhausted("the message has " + std::to_string(bytes) + " bytes; the limit is " + std::to_string(limit));
  }

  void refuse(const Error& error, grpc::ServerUnaryReactor* reactor) {
    Answer answer = ingest_->answer(error);
    ingest_->refused(Transport::kGrpc, answer.verdict);
    reactor->Finish(status_of(answer));
  }

  std::shared_ptr<Ingest> ingest_;
  const net::GrpcDoor& door_;
};

grpc::Status refuse_unknown(Ingest& ingest, const std::string& method) {
  ingest.refused(Transport::kGrpc, Verdict::kUnimplemented);
  return status_of(
      {Verdict::kUnimplemented, "there is no " + method + " here; traces are taken at " + std::string(kExportMethod)});
}

}  // namespace

struct OtlpGrpcServer::Impl {
  Impl(OtlpGrpcOptions given, std::shared_ptr<Ingest> ingest)
      : options(std::move(given)),
        door("otlp_grpc", options.address, net::Scope::kIngest, options.security),
        service(ingest, door),
        unknown([ingest, this](const grpc::ServerContextBase& call, const std::string& method) {
          auto refusal = door.refusal(call);
          if (!refusal) return refuse_unknown(*ingest, method);
          ingest->refused(Transport::kGrpc, Verdict::kUnauthenticated);
          return *refusal;
        }) {}

  OtlpGrpcOptions options;
  net::GrpcDoor door;
  ExportService service;
  net::UnknownCalls unknown;
  std::unique_ptr<grpc::Server> server;
};

OtlpGrpcServer::OtlpGrpcServer(OtlpGrpcOptions options, std::shared_ptr<Ingest> ingest)
    : impl_(std::make_unique<Impl>(std::move(options), std::move(ingest))) {}

OtlpGrpcServer::~OtlpGrpcServer() {
  stop(0);
}

Result<std::string> OtlpGrpcServer::start() {
  auto address = net::split_address(impl_->options.address);
  if (!address.ok()) return address.error();
  grpc::EnableDefaultHealthCheckService(true);
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  grpc::ServerBuilder builder;
  impl_->door.add_to(builder);
  builder.RegisterService(&impl_->service);
  builder.RegisterCallbackGenericService(&impl_->unknown);
  net::bound(builder, {.name = "otlp",
                       .buffer_bytes = impl_->options.buffer_bytes,
                       .connection_age_nano = impl_->options.connection_age_nano,
                       .connection_grace_nano = impl_->options.connection_grace_nano});
  impl_->server = builder.BuildAndStart();
  Result<std::string> bound = impl_->door.open(impl_->server.get());
  if (!bound) {
    impl_->server.reset();
    return bound;
  }
  // The server as a whole ("") is SERVING by itself.
  impl_->server->GetHealthCheckService()->SetServingStatus(TraceService::service_full_name(), true);
  return bound;
}

void OtlpGrpcServer::stop(uint64_t grace_nano) {
  if (impl_->server == nullptr) return;
  impl_->door.close();
  impl_->server->GetHealthCheckService()->Shutdown();  // NOT_SERVING, for those who watch
  impl_->server->Shutdown(std::chrono::system_clock::now() + std::chrono::nanoseconds(grace_nano));
  impl_->server->Wait();
  impl_->door.end();
  impl_->server.reset();
}

}  // namespace fathom::collector

#include "bench/grpc_sink.h"

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/grpcpp.h>

#include "bench/sink.h"

namespace fathom::bench {

namespace {

class Discard : public grpc::ServerGenericBidiReactor {
 public:
  Discard() { StartRead(&request_); }
  void OnReadDone(bool ok) override {
    if (!ok) return Finish(grpc::Status(grpc::StatusCode::INVALID_ARGUMENT, "no request"));
    request_.Clear();
    grpc::Slice nothing("", 0);
    reply_ = grpc::ByteBuffer(&nothing, 1);
    StartWriteAndFinish(&reply_, {}, grpc::Status::OK);
  }
  void OnDone() override { delete this; }

 private:
  grpc::ByteBuffer request_;
  grpc::ByteBuffer reply_;
};

class DiscardService : public grpc::CallbackGenericService {
  grpc::ServerGenericBidiReactor* CreateReactor(grpc::GenericCallbackServerContext*) override { return new Discard; }
};

}  // namespace

int run_grpc_sink(int ready_fd) {
  DiscardService service;
  return run_sink("otlp_grpc", ready_fd,
                  [&](grpc::ServerBuilder& builder) { builder.RegisterCallbackGenericService(&service); });
}

}  // namespace fathom::bench

#include "bench/testing/scripted_grpc_server.h"

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/grpcpp.h>

#include <mutex>

namespace fathom::bench {

struct ScriptedGrpcServer::Impl : grpc::CallbackGenericService {
  class Reactor : public grpc::ServerGenericBidiReactor {
   public:
    explicit Reactor(Impl& impl) : impl_(impl) { StartRead(&request_); }
    void OnReadDone(bool) override {
      ScriptedAnswer answer = impl_.take(request_);
      if (answer.status != 0) return Finish(grpc::Status(static_cast<grpc::StatusCode>(answer.status), "as scripted"));
      grpc::Slice slice(answer.reply_bytes);
      reply_ = grpc::ByteBuffer(&slice, 1);
      StartWriteAndFinish(&reply_, {}, grpc::Status::OK);
    }
    void OnDone() override { delete this; }

   private:
    Impl& impl_;
    grpc::ByteBuffer request_;
    grpc::ByteBuffer reply_;
  };

  grpc::ServerGenericBidiReactor* CreateReactor(grpc::GenericCallbackServerContext*) override {
    return new Reactor(*this);
  }

  ScriptedAnswer take(const grpc::ByteBuffer& request) {
    std::lock_guard lock(mutex);
    ScriptedAnswer given = answer(count++);
    std::vector<grpc::Slice> slices;
    std::string bytes;
    if (given.status == 0 && request.Dump(&slices).ok()) {
      for (const grpc::Slice& slice : slices) bytes.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
      requests.push_back(bytes);
    }
    return given;
  }

  std::function<ScriptedAnswer(size_t)> answer;
  std::mutex mutex;
  size_t count = 0;
  std::vector<std::string> requests;
  int port = 0;
  std::unique_ptr<grpc::Server> server;
};

ScriptedGrpcServer::ScriptedGrpcServer(std::function<ScriptedAnswer(size_t)> answer) : impl_(std::make_unique<Impl>()) {
  impl_->answer = std::move(answer);
  grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &impl_->port);
  builder.RegisterCallbackGenericService(impl_.get());
  impl_->server = builder.BuildAndStart();
}

ScriptedGrpcServer::~ScriptedGrpcServer() {
  impl_->server->Shutdown();
  impl_->server->Wait();
}

std::string ScriptedGrpcServer::address() const {
  return "127.0.0.1:" + std::to_string(impl_->port);
}

std::vector<std::string> ScriptedGrpcServer::requests() const {
  std::lock_guard lock(impl_->mutex);
  return impl_->requests;
}

}  // namespace fathom::bench

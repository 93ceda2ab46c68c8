#include "bench/grpc_sink.h"

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/grpcpp.h>
#include <signal.h>
#include <unistd.h>

#include <string>

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

bool write_line(int fd, const std::string& line) {
  return ::write(fd, line.data(), line.size()) == static_cast<ssize_t>(line.size());
}

}  // namespace

int run_grpc_sink(int ready_fd) {
  sigset_t end;
  sigemptyset(&end);
  sigaddset(&end, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &end, nullptr);  // before gRPC's threads are made, so that they inherit it
  DiscardService service;
  int port = 0;
  grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.SetMaxReceiveMessageSize(64 << 20);
  builder.RegisterCallbackGenericService(&service);
  std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (!server || !write_line(ready_fd, "{\"otlp_grpc\":\"127.0.0.1:" + std::to_string(port) + "\"}\n")) return 1;
  int signal = 0;
  sigwait(&end, &signal);
  server->Shutdown();
  return 0;
}

}  // namespace fathom::bench

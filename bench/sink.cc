#include "bench/sink.h"

#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <memory>

namespace fathom::bench {

namespace {

bool write_line(int fd, const std::string& line) {
  return ::write(fd, line.data(), line.size()) == static_cast<ssize_t>(line.size());
}

}  // namespace

int run_sink(const std::string& key, int ready_fd, const std::function<void(grpc::ServerBuilder&)>& add_service) {
  sigset_t end;
  sigemptyset(&end);
  sigaddset(&end, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &end, nullptr);  // before gRPC's threads are made, so that they inherit it
  int port = 0;
  grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.SetMaxReceiveMessageSize(64 << 20);
  add_service(builder);
  std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (!server || !write_line(ready_fd, "{\"" + key + "\":\"127.0.0.1:" + std::to_string(port) + "\"}\n")) return 1;
  int signal = 0;
  sigwait(&end, &signal);
  server->Shutdown(std::chrono::system_clock::now());
  return 0;
}

}  // namespace fathom::bench

#include "service.h"

#include <signal.h>

#include <chrono>
#include <cstdio>
#include <ctime>

namespace shop {

namespace {

constexpr auto kGrace = std::chrono::seconds(5);
constexpr uint64_t kFlushNano = 1'000'000'000;

sigset_t stop_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  return signals;
}

// "127.0.0.1:0" with the port that it became.
std::string with_port(const std::string& listen, int port) {
  return listen.substr(0, listen.rfind(':') + 1) + std::to_string(port);
}

}  // namespace

void name_program(const std::string& service) {
  std::string attributes = "service.name=" + service + ",service.namespace=shop,deployment.environment.name=demo";
  fathom_set_resource({attributes.data(), attributes.size()});
}

void hold_signals() {
  sigset_t signals = stop_signals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
}

bool wait_for_stop(int64_t timeout_nano) {
  sigset_t signals = stop_signals();
  int number = 0;
  if (timeout_nano < 0) return sigwait(&signals, &number) == 0;
  timespec timeout{timeout_nano / 1'000'000'000, timeout_nano % 1'000'000'000};
  return sigtimedwait(&signals, nullptr, &timeout) > 0;
}

int serve(::grpc::Service& service, const std::string& listen) {
  ::grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort(listen, ::grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(&service);
  fathom::grpc::trace_server(builder);
  std::unique_ptr<::grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr || port == 0) {
    std::fprintf(stderr, "shop: cannot listen on %s\n", listen.c_str());
    return 1;
  }
  std::printf("%s\n", with_port(listen, port).c_str());
  std::fflush(stdout);
  wait_for_stop();
  server->Shutdown(std::chrono::system_clock::now() + kGrace);
  server.reset();
  let_spans_be_taken();
  return 0;
}

void let_spans_be_taken() {
  fathom_flush(kFlushNano);
}

std::shared_ptr<::grpc::Channel> connect(const std::string& address) {
  return fathom::grpc::traced_channel(address, ::grpc::InsecureChannelCredentials());
}

}  // namespace shop

// GrpcDoor: the port of a gRPC server, plain or with TLS, and who is let in.
//
// Purpose: gRPC listens by itself where there is no TLS; with it, a TlsFront does and hands it the peers, so that
// handshakes are bounded, counted and explained as those of HTTP are. All of it is inline, so that only folders that
// serve gRPC link it. Thread safety: one thread, but refusal(), which any may call. Ownership: the door's server must
// live until close(). Errors: open() names the address and the cure.
#pragma once

#include <grpcpp/grpcpp.h>
#include <grpcpp/server_posix.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "net/listener_security.h"
#include "net/tls_front.h"
#include "net/tokens.h"

namespace fathom::net {

class GrpcDoor {
 public:
  // `listener`: the label in metrics.
  GrpcDoor(std::string listener, std::string address, ListenerSecurity security)
      : listener_(std::move(listener)), address_(std::move(address)), security_(std::move(security)) {
    if (security_.tokens) list_token_metrics(listener_);
  }

  void add_to(grpc::ServerBuilder& builder) {
    if (!security_.tls) builder.AddListeningPort(address_, grpc::InsecureServerCredentials(), &port_);
  }

  // What was built is null when its port could not be had; `fault` is said behind the address then.
  Result<std::string> open(grpc::Server* server, const std::string& fault) {
    if (server == nullptr || (!security_.tls && port_ == 0)) {
      return unavailable("cannot listen on " + address_ + fault);
    }
    if (!security_.tls) return address_.substr(0, address_.rfind(':') + 1) + std::to_string(port_);
    front_ = std::make_unique<TlsFront>(
        TlsFrontOptions{.listener = listener_, .address = address_, .protocol = "h2"}, security_.tls,
        [server](Fd socket) { grpc::AddInsecureChannelFromFd(server, socket.release()); });
    return front_->start();
  }

  // Before the server is shut down, and after it.
  void close() {
    if (front_) front_->close_door();
  }
  void end() { front_.reset(); }

  // Nothing for a call that may come in.
  std::optional<grpc::Status> refusal(const grpc::ServerContextBase& call) const {
    if (!security_.tokens) return std::nullopt;
    const auto found = call.client_metadata().find("authorization");
    const bool given = found != call.client_metadata().end();
    auto why = security_.tokens->refuse(
        listener_, given ? std::string_view(found->second.data(), found->second.size()) : std::string_view());
    if (!why) return std::nullopt;
    return grpc::Status(grpc::StatusCode::UNAUTHENTICATED, *why);
  }

 private:
  const std::string listener_;
  const std::string address_;
  const ListenerSecurity security_;
  int port_ = 0;
  std::unique_ptr<TlsFront> front_;
};

}  // namespace fathom::net

// GrpcDoor: the port of a gRPC server, plain or with TLS, and who is let in.
//
// Purpose: gRPC listens by itself where there is no TLS; with it, a TlsFront does and hands it the peers, so that
// handshakes are bounded, counted and explained as those of HTTP are. All of it is inline, so that only folders that
// serve gRPC link it. Where tokens are asked for, calls want one; health checks do not, for those who probe have none,
// and nobody is told by reflection what there is. Thread safety: one thread, but refusal(), which any may call.
// Ownership: the door's server must live until close(). Errors: open() names the address and the cure.
#pragma once

#include <grpcpp/grpcpp.h>
#include <grpcpp/impl/server_builder_option.h>
#include <grpcpp/server_posix.h>

#include <charconv>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "net/address.h"
#include "net/listener_security.h"
#include "net/tls_front.h"
#include "net/tokens.h"

namespace fathom::net {

// Reflection is a plugin of every builder in the program, and answers before anybody could ask for a token.
class WithoutReflection : public grpc::ServerBuilderOption {
 public:
  void UpdateArguments(grpc::ChannelArguments*) override {}
  void UpdatePlugins(std::vector<std::unique_ptr<grpc::ServerBuilderPlugin>>* plugins) override {
    std::erase_if(*plugins, [](const auto& plugin) { return plugin->name() == "proto_server_reflection"; });
  }
};

class GrpcDoor {
 public:
  // `listener`: the label in metrics. `scope`: what a call's token must allow.
  GrpcDoor(std::string listener, std::string address, Scope scope, ListenerSecurity security)
      : listener_(std::move(listener)), address_(std::move(address)), scope_(scope), security_(std::move(security)) {
    if (security_.tokens) list_token_metrics(listener_);
  }

  void add_to(grpc::ServerBuilder& builder) {
    if (security_.tokens) builder.SetOption(std::make_unique<WithoutReflection>());
    if (!security_.tls) builder.AddListeningPort(address_, grpc::InsecureServerCredentials(), &port_);
  }

  // What was built is null when its port could not be had.
  Result<std::string> open(grpc::Server* server) {
    if (server == nullptr || (!security_.tls && port_ == 0)) return unavailable(why_not_listening(address_));
    if (!security_.tls) return address_.substr(0, address_.rfind(':') + 1) + std::to_string(port_);
    front_ = std::make_unique<TlsFront>(TlsFrontOptions{.listener = listener_, .address = address_, .protocol = "h2"},
                                        security_.tls, [this, server](Fd socket, const std::string& peer) {
                                          note_peer(socket.get(), peer);
                                          grpc::AddInsecureChannelFromFd(server, socket.release());
                                        });
    return front_->start();
  }

  // Before the server is shut down, and after it.
  void close() {
    if (front_) front_->close_door();
  }
  void end() { front_.reset(); }

  // Whether a call may come in. Without tokens everybody may, and has no token's name.
  Admission admit(const grpc::ServerContextBase& call) const {
    if (!security_.tokens) return {};
    const auto found = call.client_metadata().find("authorization");
    const bool given = found != call.client_metadata().end();
    return security_.tokens->admit(
        {listener_, peer_of(call), scope_},
        given ? std::string_view(found->second.data(), found->second.size()) : std::string_view());
  }
  // Nothing for a call that may come in.
  std::optional<grpc::Status> refusal(const grpc::ServerContextBase& call) const { return status_of(admit(call)); }
  static std::optional<grpc::Status> status_of(const Admission& admission) {
    if (!admission.why_not) return std::nullopt;
    const auto code = admission.is_known() ? grpc::StatusCode::PERMISSION_DENIED : grpc::StatusCode::UNAUTHENTICATED;
    return grpc::Status(code, *admission.why_not);
  }

  // For calls that go on for long: `told` is called when other tokens are in use. Null where none are asked for.
  [[nodiscard]] Watchers::Watch watch_tokens(Watchers::Told told) const {
    return security_.tokens ? security_.tokens->watch(std::move(told)) : nullptr;
  }

  // "HOST:PORT", or what gRPC calls it.
  std::string peer_of(const grpc::ServerContextBase& call) const {
    constexpr std::string_view kDescriptor = "fd:";
    std::string peer = call.peer();
    if (!peer.starts_with(kDescriptor)) return peer;
    int descriptor = -1;
    std::from_chars(peer.data() + kDescriptor.size(), peer.data() + peer.size(), descriptor);
    std::lock_guard lock(mutex_);
    const auto found = peers_.find(descriptor);
    return found == peers_.end() ? peer : found->second;
  }

 private:
  // gRPC knows those whom it did not accept itself by their descriptors alone.
  void note_peer(int descriptor, const std::string& peer) {
    std::lock_guard lock(mutex_);
    peers_[descriptor] = peer;
  }
  const std::string listener_;
  const std::string address_;
  const Scope scope_;
  const ListenerSecurity security_;
  int port_ = 0;
  mutable std::mutex mutex_;
  std::map<int, std::string> peers_;  // as many as there are descriptors at most; the last of each
  std::unique_ptr<TlsFront> front_;
};

}  // namespace fathom::net

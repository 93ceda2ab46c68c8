// The client's side of fathom/grpc.h, which programs include.
#pragma once

#include <charconv>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include <grpcpp/support/client_interceptor.h>

#include <fathom/grpc_call.h>

namespace fathom::grpc::internal {

using SentMetadata = std::multimap<std::string, std::string>;

// Whom a channel calls, as its spans say it: of "dns:///catalog:7001", "catalog" and 7001.
class Target {
 public:
  explicit Target(std::string_view target) {
    size_t slash = target.rfind('/');
    bool has_scheme = target.find("://") != std::string_view::npos && slash != std::string_view::npos;
    if (has_scheme) target.remove_prefix(slash + 1);
    size_t colon = target.rfind(':');
    std::string_view digits = colon == std::string_view::npos ? "" : target.substr(colon + 1);
    auto [end, fault] = std::from_chars(digits.data(), digits.data() + digits.size(), port_);
    bool is_port = fault == std::errc() && end == digits.data() + digits.size() && !digits.empty();
    if (!is_port) port_ = 0;
    host_ = is_port ? target.substr(0, colon) : target;
  }

  void describe(DetachedSpan& span) const {
    if (!host_.empty()) span.set("server.address", host_);
    if (port_ != 0) span.set("server.port", port_);
  }

 private:
  std::string host_;
  uint16_t port_ = 0;
};

// One call: from the stub's call to its status. gRPC orders the two interceptions that touch the span.
class ClientInterceptor : public ::grpc::experimental::Interceptor {
 public:
  ClientInterceptor(::grpc::experimental::ClientRpcInfo* info, const Target& target)
      : name_(span_name(info->method())), target_(target), span_(name_, Kind::kClient) {
    describe_call();
  }
  ~ClientInterceptor() override {
    if (!span_.open()) return;
    set_code(span_, ::grpc::StatusCode::CANCELLED);
    span_.error(kGivenUp);
  }

  void Intercept(::grpc::experimental::InterceptorBatchMethods* methods) override {
    using Point = ::grpc::experimental::InterceptionHookPoints;
    if (methods->QueryInterceptionHookPoint(Point::PRE_SEND_INITIAL_METADATA))
      inject(methods->GetSendInitialMetadata());
    if (methods->QueryInterceptionHookPoint(Point::POST_RECV_STATUS)) finish(methods->GetRecvStatus());
    methods->Proceed();
  }

 private:
  void describe_call() {
    describe(span_, name_);
    target_.describe(span_);
  }

  void inject(SentMetadata* metadata) {
    if (metadata == nullptr) return;
    auto parent = metadata->find(kSetParent);
    if (parent != metadata->end()) move_under(parent->second, *metadata);
    // A program that passes its caller's metadata on is not to pass its caller's place on.
    for (const char* key : {kTraceParent, kTraceState, kSetParent, kSetState, kPublishedKey}) metadata->erase(key);
    Context context = span_.context();
    metadata->emplace(kTraceParent, context.traceparent());
    std::string state = context.tracestate();
    if (!state.empty()) metadata->emplace(kTraceState, std::move(state));
  }

  // What set_parent() left.
  void move_under(const std::string& traceparent, const SentMetadata& metadata) {
    auto state = metadata.find(kSetState);
    fathom_context parent;
    fathom_text no_state{nullptr, 0};
    fathom_text state_text = state == metadata.end() ? no_state : trace_internal::text(state->second);
    if (fathom_extract(trace_internal::text(traceparent), state_text, &parent) != 0) return;
    parent.remote = 0;  // it is this program's own
    span_.discard();
    fathom_span_start(span_.raw(), trace_internal::text(name_), FATHOM_CLIENT, &parent);
    describe_call();
  }

  void finish(const ::grpc::Status* status) {
    if (status == nullptr) return;
    set_code(span_, status->error_code());
    if (!status->ok()) span_.error(status->error_message());
    span_.end();
  }

  const std::string name_;  // a copy: the text of a generic stub may be gone before its call starts
  const Target& target_;
  DetachedSpan span_;
};

class ClientTracing : public ::grpc::experimental::ClientInterceptorFactoryInterface {
 public:
  explicit ClientTracing(const std::string& target) : target_(target) {}
  ::grpc::experimental::Interceptor* CreateClientInterceptor(::grpc::experimental::ClientRpcInfo* info) override {
    return new ClientInterceptor(info, target_);
  }

 private:
  const Target target_;  // the channel owns the factory, and outlives its calls
};

}  // namespace fathom::grpc::internal

// The server's side of fathom/grpc.h, which programs include.
//
// gRPC runs a sync handler, and a callback method, within Proceed() of the interception that delivers the request's
// metadata; the span is active on that thread for so long. A callback method may have the call finished by another
// thread meanwhile, and a call's interceptor may be gone when Proceed() returns; so the call's state is shared, and an
// active span is ended by the thread on which it is active.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include <grpcpp/server_context.h>
#include <grpcpp/support/server_interceptor.h>

#include <fathom/grpc_call.h>

namespace fathom::grpc::internal {

using ReceivedMetadata = std::multimap<::grpc::string_ref, ::grpc::string_ref>;

inline std::string_view view(const ::grpc::string_ref& text) {
  return {text.data(), text.size()};
}

// W3C: several tracestate headers are one list, several traceparents are none.
inline std::optional<Context> extract(const ReceivedMetadata& metadata) {
  if (metadata.count(kTraceParent) != 1) return std::nullopt;
  auto parent = metadata.find(kTraceParent);
  std::string state;
  auto [begin, end] = metadata.equal_range(kTraceState);
  for (auto entry = begin; entry != end; ++entry) {
    if (!state.empty()) state += ',';
    state += view(entry->second);
  }
  return Context::extract(view(parent->second), state);
}

inline DetachedSpan& no_span() {
  static thread_local DetachedSpan none;
  return none;
}

// OpenTelemetry: the others are the caller's doing.
inline bool is_servers_fault(::grpc::StatusCode code) {
  switch (code) {
    case ::grpc::StatusCode::UNKNOWN:
    case ::grpc::StatusCode::DEADLINE_EXCEEDED:
    case ::grpc::StatusCode::UNIMPLEMENTED:
    case ::grpc::StatusCode::INTERNAL:
    case ::grpc::StatusCode::UNAVAILABLE:
    case ::grpc::StatusCode::DATA_LOSS:
      return true;
    default:
      return false;
  }
}

// One call and its span, from the request's metadata to the status.
class ServedCall {
 public:
  explicit ServedCall(::grpc::experimental::ServerRpcInfo* info)
      : name_(span_name(info->method())), server_context_(info->server_context()) {}

  // What publish() left among a call's metadata; null when it is not traced. The key's address is asked for, because
  // what comes from the network can have its text, but not its place.
  static ServedCall* of(const ReceivedMetadata& metadata) {
    auto [begin, end] = metadata.equal_range(kPublishedKey);
    for (auto entry = begin; entry != end; ++entry) {
      if (entry->first.data() != kPublishedKey) continue;
      return reinterpret_cast<const Published*>(entry->second.data())->call;
    }
    return nullptr;
  }

  DetachedSpan& span() { return span_; }
  const Context& context() const { return context_; }

  void begin(ReceivedMetadata* metadata) {
    span_ = DetachedSpan(name_, metadata == nullptr ? std::nullopt : extract(*metadata), Kind::kServer);
    describe(span_, name_);
    context_ = span_.context();
    if (metadata != nullptr) publish(*metadata);
  }

  // Before and after the handler, on its thread.
  void enter() {
    std::lock_guard lock(mutex_);
    active_on_ = std::this_thread::get_id();
    fathom_span_activate(span_.raw());
  }
  void leave() {
    std::lock_guard lock(mutex_);
    active_on_ = {};
    if (ended_) {
      span_.end();
    } else {
      fathom_span_deactivate(span_.raw());
    }
  }

  // The handler's answer is on its way. The handler, or whoever finishes for it, owns the span until here.
  void finish(const ::grpc::Status& status) {
    std::lock_guard lock(mutex_);
    if (ended_) return;
    if (is_servers_fault(status.error_code())) span_.error(status.error_message());
    set_code(span_, was_cancelled() ? note_cancellation(status.error_code()) : status.error_code());
    end();
  }

  // gRPC lets go of the call; the async API may do so without a status.
  void abandon() {
    std::lock_guard lock(mutex_);
    if (ended_) return;
    set_code(span_, ::grpc::StatusCode::CANCELLED);
    span_.error(kGivenUp);
    end();
  }

 private:
  // Among the metadata stands a text like any other; the address behind it is for of() alone.
  struct Published {
    char traceparent[56] = {};
    ServedCall* call = nullptr;
  };
  static constexpr auto kDeadlineSlack = std::chrono::milliseconds(5);

  void publish(ReceivedMetadata& metadata) {
    fathom_inject_parent(&context_.raw(), published_.traceparent);
    published_.call = this;
    for (const char* key : {kSetParent, kSetState, kPublishedKey}) metadata.erase(key);  // somebody else's
    metadata.emplace(kPublishedKey, ::grpc::string_ref(published_.traceparent, sizeof published_.traceparent - 1));
  }

  // gRPC admits the question to the async API only after a tag of its own.
  bool was_cancelled() const {
    auto* callback = dynamic_cast<::grpc::CallbackServerContext*>(server_context_);
    if (callback != nullptr) return callback->IsCancelled();
    auto* sync = dynamic_cast<::grpc::ServerContext*>(server_context_);
    return sync != nullptr && active_on_ == std::this_thread::get_id() && sync->IsCancelled();
  }

  std::chrono::system_clock::time_point deadline() const {
    auto* callback = dynamic_cast<::grpc::CallbackServerContext*>(server_context_);
    return callback != nullptr ? callback->deadline()
                               : static_cast<::grpc::ServerContext*>(server_context_)->deadline();
  }

  // A client whose deadline has passed cancels the call; here it then has not quite passed, because its way here is
  // rounded up, to a hundredth of it at most.
  bool is_late() const {
    auto left = deadline() - std::chrono::system_clock::now();
    return left <= kDeadlineSlack + (deadline() - begun_) / 50;
  }

  // Returns the code that the span has: the caller's, because nobody heard what the handler said; but a fault of its
  // own is one all the same.
  ::grpc::StatusCode note_cancellation(::grpc::StatusCode said) {
    bool late = is_late();
    span_.event("call cancelled").detail("reason", late ? "deadline exceeded" : "cancelled by the client");
    if (is_servers_fault(said)) return said;
    if (late) span_.error("deadline exceeded before the answer");
    return late ? ::grpc::StatusCode::DEADLINE_EXCEEDED : ::grpc::StatusCode::CANCELLED;
  }

  void end() {
    ended_ = true;
    bool elsewhere = active_on_ != std::thread::id() && active_on_ != std::this_thread::get_id();
    if (!elsewhere) span_.end();
  }

  const std::string_view name_;
  ::grpc::ServerContextBase* const server_context_;
  std::mutex mutex_;
  std::thread::id active_on_;
  bool ended_ = false;
  DetachedSpan span_;
  Context context_;
  Published published_;
  const std::chrono::system_clock::time_point begun_ = std::chrono::system_clock::now();
};

class ServerInterceptor : public ::grpc::experimental::Interceptor {
 public:
  explicit ServerInterceptor(::grpc::experimental::ServerRpcInfo* info) : call_(std::make_shared<ServedCall>(info)) {}
  ~ServerInterceptor() override { call_->abandon(); }

  void Intercept(::grpc::experimental::InterceptorBatchMethods* methods) override {
    using Point = ::grpc::experimental::InterceptionHookPoints;
    if (methods->QueryInterceptionHookPoint(Point::POST_RECV_INITIAL_METADATA)) return serve(methods);
    if (methods->QueryInterceptionHookPoint(Point::PRE_SEND_STATUS)) call_->finish(methods->GetSendStatus());
    methods->Proceed();
  }

 private:
  void serve(::grpc::experimental::InterceptorBatchMethods* methods) {
    std::shared_ptr<ServedCall> call = call_;
    call->begin(methods->GetRecvInitialMetadata());
    call->enter();
    methods->Proceed();  // this object may be gone afterwards
    call->leave();
  }

  std::shared_ptr<ServedCall> call_;
};

class ServerTracing : public ::grpc::experimental::ServerInterceptorFactoryInterface {
 public:
  ::grpc::experimental::Interceptor* CreateServerInterceptor(::grpc::experimental::ServerRpcInfo* info) override {
    return new ServerInterceptor(info);
  }
};

}  // namespace fathom::grpc::internal

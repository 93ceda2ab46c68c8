// fathom for gRPC programs in C++: every call is a span, on both sides, with two lines in the program.
//
//   fathom::grpc::trace_server(builder);                                   // before builder.BuildAndStart()
//   auto channel = fathom::grpc::traced_channel("host:port", credentials);  // instead of grpc::CreateChannel()
//
// Purpose: servers continue the trace that W3C's headers name, clients send those headers. Sync, callback and async
// API, unary and streaming. In a sync handler, and in a callback method until it returns, the call's span is the
// thread's active one, so that spans and calls made there are its children. Reactions on other threads, and handlers of
// the async API, ask for it: fathom::grpc::context_of(*server_context). A client's call is a child of the span that is
// active on the thread which makes the stub's call, or of the one that set_parent() named. Names and attributes:
// OpenTelemetry's (rpc.system, rpc.service, rpc.method, rpc.grpc.status_code, server.address, server.port); the span's
// name is "package.Service/Method". Errors: on the client every status but OK; on the server those that are its own
// fault (UNKNOWN, DEADLINE_EXCEEDED, UNIMPLEMENTED, INTERNAL, UNAVAILABLE, DATA_LOSS). A call that is cancelled, passes
// its deadline or is given up without a status ends its span all the same. Thread safety and ownership: as gRPC's own.
// Header-only; the program links gRPC and fathom::client, and is compiled with RTTI. Exceptions: none of its own.
#pragma once

#if !defined(__GXX_RTTI)
#error "fathom/grpc.h needs RTTI: compile without -fno-rtti"
#endif

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <grpcpp/create_channel.h>
#include <grpcpp/server_builder.h>

#include <fathom/grpc_client.h>
#include <fathom/grpc_server.h>

namespace fathom::grpc {

// ---- servers -------------------------------------------------------------------------------------------------------

using ServerInterceptors = std::vector<std::unique_ptr<::grpc::experimental::ServerInterceptorFactoryInterface>>;

// `others`: what else intercepts this server's calls; the builder has only one list, which this replaces.
inline void trace_server(::grpc::ServerBuilder& builder, ServerInterceptors others = {}) {
  others.insert(others.begin(), std::make_unique<internal::ServerTracing>());
  builder.experimental().SetInterceptorCreators(std::move(others));
}

// The span of a call that is being served; nothing when the server is not traced. For the call's own handler: valid
// until it finishes the call.
//   fathom::grpc::span_of(*context).set("tenant", request->tenant());
template <typename ServerContext>
DetachedSpan& span_of(const ServerContext& context) {
  internal::ServedCall* call = internal::ServedCall::of(context.client_metadata());
  return call == nullptr ? internal::no_span() : call->span();
}

// Where that span belongs, for children that are made on other threads; also after the call has finished.
template <typename ServerContext>
std::optional<Context> context_of(const ServerContext& context) {
  internal::ServedCall* call = internal::ServedCall::of(context.client_metadata());
  return call == nullptr ? std::nullopt : std::optional<Context>(call->context());
}

// ---- clients -------------------------------------------------------------------------------------------------------

using ClientInterceptors = std::vector<std::unique_ptr<::grpc::experimental::ClientInterceptorFactoryInterface>>;

// For channels that are made otherwise (in-process, from a descriptor).
inline ClientInterceptors client_interceptors(const std::string& target = "") {
  ClientInterceptors interceptors;
  interceptors.push_back(std::make_unique<internal::ClientTracing>(target));
  return interceptors;
}

inline std::shared_ptr<::grpc::Channel> traced_channel(const std::string& target,
                                                       const std::shared_ptr<::grpc::ChannelCredentials>& credentials,
                                                       const ::grpc::ChannelArguments& arguments = {}) {
  return ::grpc::experimental::CreateCustomChannelWithInterceptors(target, credentials, arguments,
                                                                   client_interceptors(target));
}

// The call that will be made with this context, on a traced channel, is a child of `parent`, a span of this program,
// whatever is active then. Once per context, before the call. Trace headers that the program itself adds to a context
// count for nothing: the call's span replaces them.
inline void set_parent(::grpc::ClientContext& client_context, const Context& parent) {
  client_context.AddMetadata(internal::kSetParent, parent.traceparent());
  std::string state = parent.tracestate();
  if (!state.empty()) client_context.AddMetadata(internal::kSetState, state);
}

}  // namespace fathom::grpc

// What the server's and the client's side of fathom/grpc.h share. Programs include that one.
#pragma once

#include <cstring>
#include <string>
#include <string_view>

#include <grpcpp/support/status.h>

#include <fathom/trace.h>

namespace fathom::grpc::internal {

inline constexpr char kTraceParent[] = "traceparent";
inline constexpr char kTraceState[] = "tracestate";
// Under these lies what is this program's own and never sent: the parent that set_parent() named, and its tracestate.
inline constexpr char kSetParent[] = "fathom-parent";
inline constexpr char kSetState[] = "fathom-parent-state";
// Under this a served call's span is found. Its address counts, so all modules of a program must see the same one.
__attribute__((visibility("default"))) inline constexpr char kPublishedKey[] = "fathom-span";
inline constexpr std::string_view kGivenUp = "given up without a status";

// gRPC's "/package.Service/Method" without its first character.
inline std::string_view span_name(const char* method) {
  if (method == nullptr || *method == '\0') return "unknown";
  return method + (*method == '/' ? 1 : 0);
}

inline void describe(DetachedSpan& span, std::string_view name) {
  span.set("rpc.system", "grpc");
  size_t slash = name.rfind('/');
  if (slash == std::string_view::npos) return;
  span.set("rpc.service", name.substr(0, slash)).set("rpc.method", name.substr(slash + 1));
}

inline void set_code(DetachedSpan& span, ::grpc::StatusCode code) {
  span.set("rpc.grpc.status_code", static_cast<int64_t>(code));
}

}  // namespace fathom::grpc::internal

// What every gRPC listener of fathom bounds, and how it refuses calls of methods that it does not have.
//
// Purpose: the ports differ in what they serve, not in what a stranger may cost them: connections, streams, memory,
// threads. All of it is inline, so that only folders that serve gRPC link it. Thread safety: bound() before the server
// starts; UnknownCalls from any thread. Ownership: UnknownCalls must outlive its server.
#pragma once

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/resource_quota.h>
#include <grpcpp/server_builder.h>

#include <algorithm>
#include <climits>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>

namespace fathom::net {

struct GrpcLimits {
  std::string name;           // of the listener
  uint64_t buffer_bytes = 0;  // what gRPC may hold in messages that are not complete yet; beyond it streams are reset
  int streams = 128;          // at once, per connection
  // A peer that says nothing for this long is asked whether it is there, and has as long as the other to say so.
  uint64_t keepalive_nano = 60'000'000'000;
  uint64_t keepalive_timeout_nano = 20'000'000'000;
  uint64_t connection_age_nano = 0;    // then a connection's peer is asked to come anew (GOAWAY); 0: never
  uint64_t connection_grace_nano = 0;  // what calls under way have from then on; whatever is left is cut off
};

inline int whole_millis(uint64_t nano) {
  return static_cast<int>(std::clamp<uint64_t>(nano / 1'000'000, 1, INT_MAX));
}

// gRPC shows a message only when all of it is here, and knows no pace. What ends those that are begun and never sent is
// the end of their connection; honest clients connect again by themselves, and lose nothing.
inline void bound_age(grpc::ServerBuilder& builder, const GrpcLimits& limits) {
  if (limits.connection_age_nano == 0) return;
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_AGE_MS, whole_millis(limits.connection_age_nano));
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_AGE_GRACE_MS, whole_millis(limits.connection_grace_nano));
}

// Honest clients may ping every ten seconds.
inline void bound_connections(grpc::ServerBuilder& builder, const GrpcLimits& limits) {
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, limits.streams);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, whole_millis(limits.keepalive_nano));
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, whole_millis(limits.keepalive_timeout_nano));
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 10'000);
  builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, 20'000);
  // Two servers on one port would share its connections, and nobody would know which one has the data.
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
}

inline void bound_memory(grpc::ServerBuilder& builder, const GrpcLimits& limits) {
  grpc::ResourceQuota quota(limits.name);
  quota.Resize(limits.buffer_bytes);
  // Reflection is a synchronous service: a thread for every call of it.
  quota.SetMaxThreads(16);
  builder.SetResourceQuota(quota);
  builder.SetSyncServerOption(grpc::ServerBuilder::NUM_CQS, 1);
  // Too large a message is refused by whoever serves it, with a count and words: gRPC, which looks at its own limit
  // when the message is complete, would have read all of it just the same and told nobody here.
  builder.SetMaxReceiveMessageSize(-1);
  // gRPC's own decompression has no limit.
  builder.AddChannelArgument(GRPC_ARG_ENABLE_PER_MESSAGE_DECOMPRESSION, 0);
}

inline void bound(grpc::ServerBuilder& builder, const GrpcLimits& limits) {
  bound_connections(builder, limits);
  bound_age(builder, limits);
  bound_memory(builder, limits);
}

// Answers every call of a method that no service has, with words and a count: gRPC itself would refuse it in silence.
class UnknownCalls : public grpc::CallbackGenericService {
 public:
  // Counts the call and says what it is answered; the method's name is cut to a length that can be shown.
  using Refuse = std::function<grpc::Status(const grpc::ServerContextBase& call, const std::string& method)>;
  explicit UnknownCalls(Refuse refuse) : refuse_(std::move(refuse)) {}

  grpc::ServerGenericBidiReactor* CreateReactor(grpc::GenericCallbackServerContext* context) override {
    return new Refused(refuse_(*context, context->method().substr(0, kShownMethodBytes)));
  }

 private:
  static constexpr size_t kShownMethodBytes = 200;

  class Refused : public grpc::ServerGenericBidiReactor {
   public:
    explicit Refused(const grpc::Status& status) { Finish(status); }
    void OnDone() override { delete this; }
  };

  const Refuse refuse_;
};

}  // namespace fathom::net

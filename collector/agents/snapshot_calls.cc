#include "collector/agents/snapshot_calls.h"

#include <utility>

#include "collector/agents/snapshot_messages.h"
#include "collector/grpc_parts.h"

namespace fathom::collector {

namespace {

grpc::ServerUnaryReactor* refuse(grpc::ServerUnaryReactor* reactor, grpc::StatusCode code, const char* why) {
  reactor->Finish({code, why});
  return reactor;
}

}  // namespace

grpc::ServerUnaryReactor* answer_snapshot_call(const std::shared_ptr<SnapshotIntake>& intake, SnapshotMethod method,
                                               grpc::CallbackServerContext& call, const grpc::ByteBuffer& request,
                                               grpc::ByteBuffer& response) {
  grpc::ServerUnaryReactor* reactor = call.DefaultReactor();
  if (intake == nullptr) return refuse(reactor, grpc::StatusCode::UNIMPLEMENTED, "no snapshots are taken here");
  // Without a message: the stream ended within it, and nobody waits.
  if (!request.Valid()) return refuse(reactor, grpc::StatusCode::UNAVAILABLE, "the message is incomplete");
  if (request.Length() > kMostSnapshotMessageBytes) {
    return refuse(reactor, grpc::StatusCode::RESOURCE_EXHAUSTED, "a piece has 1 MiB at most");
  }
  GrpcMessage message;
  // The object is gRPC's, and not const there: it would keep the message until it is answered.
  if (Result<> read = message.read(const_cast<grpc::ByteBuffer&>(request)); !read) {
    return refuse(reactor, grpc::StatusCode::INTERNAL, "the message cannot be read");
  }
  ((*intake).*method)(std::string(message.view()), [intake, reactor, &response](Result<std::string> reply) {
    if (!reply) return reactor->Finish({grpc::StatusCode::INVALID_ARGUMENT, reply.error().message});
    grpc::Slice slice(*reply);
    response = grpc::ByteBuffer(&slice, 1);
    reactor->Finish(grpc::Status::OK);
  });
  return reactor;
}

}  // namespace fathom::collector

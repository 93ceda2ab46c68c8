// The two calls about snapshots that stand beside the agents' stream: from gRPC's messages to the intake and back.
//
// Thread safety: any of gRPC's threads. Ownership: a call under way keeps the intake; gRPC keeps the call. Errors: a
// message that no agent sends is INVALID_ARGUMENT, one that is too large RESOURCE_EXHAUSTED.
#pragma once

#include <memory>

#include <grpcpp/grpcpp.h>

#include "collector/agents/snapshot_intake.h"

namespace fathom::collector {

using SnapshotMethod = void (SnapshotIntake::*)(std::string, SnapshotIntake::Respond);

grpc::ServerUnaryReactor* answer_snapshot_call(const std::shared_ptr<SnapshotIntake>& intake, SnapshotMethod method,
                                               grpc::CallbackServerContext& call, const grpc::ByteBuffer& request,
                                               grpc::ByteBuffer& response);

}  // namespace fathom::collector

// The agent's gRPC channels to its collector: each call of this makes a connection of its own.
//
// Thread safety: as gRPC's. A dead connection is noticed within a quarter of a minute (keepalive).
#pragma once

#include <memory>
#include <string>

#include <grpcpp/grpcpp.h>

namespace fathom::agent {

std::shared_ptr<grpc::Channel> make_channel(const std::string& address);

}  // namespace fathom::agent

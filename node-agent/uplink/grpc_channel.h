// The agent's gRPC channels to its collector: each call of this makes a connection of its own.
//
// Files of certificates and tokens are read each time, so that new ones need no restart. Thread safety: as gRPC's. A
// dead connection is noticed within a quarter of a minute (keepalive).
#pragma once

#include <memory>
#include <string>

#include <grpcpp/grpcpp.h>

#include "node-agent/uplink/collector_access.h"

namespace fathom::agent {

std::shared_ptr<grpc::Channel> make_channel(const CollectorAccess& access);
// The token, for each call, where there is one.
void show_token(grpc::ClientContext& call, const CollectorAccess& access);
// Why a call failed, with the cure where the collector would not talk to us; may take a second.
std::string explain_failure(const grpc::Status& status, const CollectorAccess& access);

}  // namespace fathom::agent

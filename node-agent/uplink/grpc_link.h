// GrpcLink: a Link over gRPC, on a channel of its own, so that its end is the end of the connection.
//
// Thread safety, ownership: as Link. A dead connection is noticed within a quarter of a minute (keepalive).
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "node-agent/uplink/collector_access.h"
#include "node-agent/uplink/link.h"

namespace fathom::agent {

// `now` is read where a probe is written and where its answer comes in, on any thread.
struct GrpcLinkOptions {
  CollectorAccess collector;
  std::string hello;  // the first message
  std::function<LocalInstant()> now;
};

std::unique_ptr<Link> open_grpc_link(GrpcLinkOptions options, LinkEvents events);

}  // namespace fathom::agent

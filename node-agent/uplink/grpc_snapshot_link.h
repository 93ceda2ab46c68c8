// A SnapshotLink over gRPC: the calls beside the agents' stream (proto/ingest.proto), on a connection of their own.
//
// Thread safety, ownership: as SnapshotLink. A call that has no answer for a minute is to be tried again.
#pragma once

#include <memory>
#include <string>

#include "node-agent/snapshots/snapshot_link.h"
#include "node-agent/uplink/collector_access.h"

namespace fathom::agent {

std::unique_ptr<SnapshotLink> open_grpc_snapshot_link(const CollectorAccess& collector);

}  // namespace fathom::agent

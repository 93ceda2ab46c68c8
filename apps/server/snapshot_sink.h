// What agents bring of snapshots, into the query face's store of them: neither part knows the other.
//
// Thread safety: all of it. Ownership: the store must outlive it. Errors: as SnapshotSink's.
#pragma once

#include <memory>

#include "collector/snapshot_sink.h"
#include "query/snapshots/snapshot_store.h"

namespace fathom {

std::unique_ptr<collector::SnapshotSink> make_snapshot_sink(query::SnapshotStore& store);

}  // namespace fathom

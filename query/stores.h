// Stores: the places that queries read.
//
// Thread safety: a plain value. Ownership: owns nothing; the stores outlive whoever has been handed them.
#pragma once

#include <utility>

#include "query/nodes.h"
#include "store/capture_store.h"
#include "store/span_store.h"

namespace fathom::query {

class SnapshotStore;  // query/snapshots/snapshot_store.h

struct Stores {
  // Of a program that keeps no captures, or no snapshots: then there are none.
  Stores(store::SpanStore& span_store, store::CaptureStore* capture_store = nullptr,
         SnapshotStore* snapshot_store = nullptr, NodeSource node_source = nullptr)
      : spans(span_store), captures(capture_store), snapshots(snapshot_store), nodes(std::move(node_source)) {}

  store::SpanStore& spans;
  store::CaptureStore* captures;
  SnapshotStore* snapshots;
  NodeSource nodes;  // the known agents; empty function: no information about agents
};

}  // namespace fathom::query

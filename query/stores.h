// Stores: the places that queries read.
//
// Thread safety: a plain value. Ownership: owns nothing; the stores outlive whoever has been handed them.
#pragma once

#include "store/capture_store.h"
#include "store/span_store.h"

namespace fathom::query {

class SnapshotStore;  // query/snapshots/snapshot_store.h

struct Stores {
  // Of a program that keeps no captures, or no snapshots: then there are none.
  Stores(store::SpanStore& span_store, store::CaptureStore* capture_store = nullptr,
         SnapshotStore* snapshot_store = nullptr)
      : spans(span_store), captures(capture_store), snapshots(snapshot_store) {}

  store::SpanStore& spans;
  store::CaptureStore* captures;
  SnapshotStore* snapshots;
};

}  // namespace fathom::query

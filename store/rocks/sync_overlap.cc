#include "store/rocks/sync_overlap.h"

#include <cassert>
#include <utility>

namespace fathom::store {

namespace {

thread_local SyncOverlap* pending_overlap = nullptr;

}  // namespace

SyncOverlap::SyncOverlap(std::function<void()> work) : work_(std::move(work)) {
  assert(pending_overlap == nullptr);
  pending_overlap = this;
}

SyncOverlap::~SyncOverlap() {
  if (pending_overlap == this) pending_overlap = nullptr;
}

SyncOverlap* SyncOverlap::pending() {
  return pending_overlap;
}

void SyncOverlap::run() noexcept {
  if (pending_overlap != this) return;
  pending_overlap = nullptr;
  work_();
}

}  // namespace fathom::store

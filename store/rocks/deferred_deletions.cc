#include "store/rocks/deferred_deletions.h"

#include <utility>

namespace fathom::store {

void DeferredDeletions::begin() {
  std::lock_guard lock(mutex_);
  is_in_doubt_ = true;
}

bool DeferredDeletions::defer(const std::string& path) {
  std::lock_guard lock(mutex_);
  if (is_in_doubt_ && path.ends_with(".sst")) kept_.insert(path);
  return kept_.contains(path);
}

void DeferredDeletions::end(rocksdb::FileSystem& disk) {
  std::set<std::string> kept;
  {
    std::lock_guard lock(mutex_);
    is_in_doubt_ = false;
    kept = std::exchange(kept_, {});
  }
  for (const std::string& path : kept) disk.DeleteFile(path, rocksdb::IOOptions(), nullptr).PermitUncheckedError();
}

}  // namespace fathom::store

// The options of every iterator over RocksDB.
//
// Purpose: an iterator of RocksDB 7.8 that moves on to the next sorted file of a level drops an error of that file and
// ends as if nothing followed (MergingIterator::SkipNextDeleted() pops the level without reading its status), unless it
// ignores range deletions. A damaged file would then silently hide the rows behind it. Only the identity family has
// range deletions: an iteration over it may return expired identities. Thread safety: a pure function.
#pragma once

#include <rocksdb/options.h>

namespace fathom::store {

inline rocksdb::ReadOptions scan_options() {
  rocksdb::ReadOptions options;
  options.ignore_range_deletions = true;
  return options;
}

}  // namespace fathom::store

// Repairs RocksDB's manifest, which lists the sorted files, before RocksDB opens it.
//
// Purpose: the manifest has the format of a log. RocksDB reads a record whose length exceeds the rest of the file as
// the end of the manifest, so one wrong bit makes it forget every later change, and delete the files of these changes.
// repair_manifest() corrects a wrong bit in a header; the damaged manifest moves to DIR/damaged. It leaves an
// unreadable end as it is, because RocksDB ignores a change that a power cut interrupted. Thread safety: none needed;
// the caller must hold the store's lock. Errors: kCorrupt if intact records follow other damage, because no list of
// files is better than a wrong one; failed reads and writes.
#pragma once

#include <rocksdb/env.h>

#include "base/result.h"
#include "store/wal/log_repair.h"

namespace fathom::store {

Result<> repair_manifest(rocksdb::Env& env, const LogPlaces& places);

}  // namespace fathom::store

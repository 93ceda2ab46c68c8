// Marks the logs that synced_logs.h lists and that are missing or have no records, and then forgets them.
//
// Purpose: the mark of a lost log is the empty file DIR/damaged/NUMBER.log.missing.MANIFEST, from which
// losses_set_aside() (log_losses.h) derives the loss. Crashes: the marks are durable before a log is forgotten, and a
// repeated start makes the same marks. A log without intact records is forgotten before an empty copy replaces it.
// Thread safety: none needed; the caller must hold the store's lock. Errors: failed writes.
#pragma once

#include <string_view>
#include <vector>

#include <rocksdb/env.h>

#include "base/result.h"
#include "store/wal/log_repair.h"

namespace fathom::store {

// `logs`: from scan_logs(). Call it before any of them changes.
Result<> mark_missing_logs(rocksdb::Env& env, const LogPlaces& places, const std::vector<LogState>& logs);

// Whether the name of a file in places.damaged is a mark.
bool is_missing_mark(std::string_view name);

}  // namespace fathom::store

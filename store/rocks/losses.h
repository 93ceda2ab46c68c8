// Finds the acknowledged spans that damage to the log destroyed, and records these losses in the data directory.
//
// Purpose: no loss is silent. repair_logs() (store/wal/log_repair.h) moved damaged logs aside and marked missing ones
// before RocksDB opened. load_losses() compares each of them once with the stored batches and writes the result to
// "lost/NAME" in the default family (docs/formats/wal.md). Thread safety: runs at start, before other threads. Errors:
// failed reads and writes. A damaged loss record is counted as a lost index value.
#pragma once

#include "store/rocks/engine.h"

namespace fathom::store {

// Fills engine.losses. Call it after the segments are loaded and before the first write.
Result<> load_losses(Engine& engine);

// The names of the logs in DIR/damaged whose losses are not recorded: this start, or one that it repeats, moved them.
Result<std::vector<std::string>> unrecorded_logs(Engine& engine);

// Forgets losses of batches received up to this age time, because retention has dropped spans received later.
void forget_losses(Engine& engine, uint64_t received_nano);

}  // namespace fathom::store

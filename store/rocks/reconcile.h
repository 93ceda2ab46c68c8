// Makes the column families agree with each other after damage to the log destroyed a write.
//
// Purpose: a write changes several families at once, but RocksDB flushes each family on its own. If the log loses the
// write, a flushed family keeps its part of it and the others do not have theirs. These functions complete or undo such
// partial writes. Writes whose loss they could not undo are flushed before anything depends on them (sealer.cc). Thread
// safety: call at start, before other threads. Errors: failed reads and writes.
#pragma once

#include "store/rocks/engine.h"

namespace fathom::store {

// Drops the oldest partitions if their segments have lost their blocks and a log was damaged whose losses are not
// recorded yet: retention had deleted their files, and the log lost the record of that. Call it at every start, after
// the segments are loaded and before load_losses(); it reads one row per segment of the oldest partition.
Result<> complete_lost_drops(Engine& engine);

// Whether the stage has a batch of this sequence.
Result<bool> is_staged(Database& database, uint64_t sequence);

// Forgets the identities of batches that the log lost, so that they are stored when they are sent again.
Result<> forget_lost_identities(Engine& engine);

// Remembers the identities of batches in the stage, which may have been in the log alone, so that these batches are not
// stored again when they are sent again.
Result<> restore_identities(Engine& engine);

}  // namespace fathom::store

// newest_stamp: the greatest stamp of reception that a data directory holds.
//
// Purpose: the age clock must not fall behind what is stored. Thread safety: before any thread of the store. Errors:
// RocksDB's.
#pragma once

#include "store/rocks/engine.h"

namespace fathom::store {

// Of segments, which must be loaded, of the stage and of captures; 0: nothing is stored.
Result<uint64_t> newest_stamp(Engine& engine);

}  // namespace fathom::store

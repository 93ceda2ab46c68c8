// The catalogue's rows in the data directory (family operation): read at start, deleted when nothing uses them.
//
// Thread safety: load_operations() before anything else runs; forget_operations() by one thread at a time. Errors:
// loading names what is damaged; a deletion that fails is repeated by the next start.
#pragma once

#include "base/result.h"
#include "store/rocks/engine.h"

namespace fathom::store {

// Segments must be known already: what none of them uses is retired.
Result<> load_operations(Engine& engine);
// Gives retired operations back, in memory and on disk; the caller knows that nobody asks for them any more.
void forget_operations(Engine& engine);

}  // namespace fathom::store

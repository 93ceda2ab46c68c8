// The priority of the store's background threads.
//
// Purpose: sealing and compaction yield to requests on a busy machine, yet get their share, because requests wait for
// them in the end. Thread safety: it speaks of the calling thread only.
#pragma once

namespace fathom::store {

// Idempotent; a refusal by the kernel is no fault.
void yield_to_requests();

}  // namespace fathom::store

// The set of requests that a thread serves at once: what a fathom_serving really holds, and what the thread's events
// belong to.
//
// Purpose: batch processing works for several requests at a time, and each of its events belongs to all of them. Thread
// safety: a set is one thread's, its signal handlers included. Ownership: the caller's memory, as a span's. Errors: who
// does not fit is dropped, and counted as a lost detail.
#pragma once

#include "client/fathom/trace_c.h"
#include "client/pool/detail_layout.h"
#include "client/thread.h"

namespace fathom::client {

struct ServingState {
  uint64_t id;          // random; zero: no set
  ServingState* outer;  // while it is begun: the one that was before
  uint64_t under;       // the id of the span that was active when it began; zero: none
  uint64_t count;
  pool::SpanRef refs[FATHOM_MOST_SERVED];
};
static_assert(sizeof(ServingState) == sizeof(fathom_serving));

// What the thread's next events belong to.
struct CurrentSpans {
  uint64_t id = 0;  // the same for the same spans; zero: none
  uint32_t count = 0;
  pool::SpanRef refs[1 + FATHOM_MOST_SERVED];
};
void current_spans(const ThreadState& thread, CurrentSpans& current);

}  // namespace fathom::client

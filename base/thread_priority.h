// How a thread shares the processor with the others of its process.
//
// Purpose: on a busy machine, whoever answers a person goes first, and whoever tidies up comes last, yet gets its
// share, because requests wait for it in the end. Since Linux 6.12 a thread that yields also takes longer turns, which
// one that does not yield may interrupt, and which never interrupt that one's (EEVDF, sched(7)). Thread safety: both
// speak of the calling thread only. Errors: none; a kernel that refuses leaves things as they were.
#pragma once

namespace fathom {

// For taking in data, which nobody looks at while it happens: a lower priority than answering. Idempotent.
void yield_to_questions();

// For background work: a lower priority still. Idempotent.
void yield_to_requests();

// For what is worth nothing when it is late, and takes little: turns so short that it may interrupt most others when it
// wakes up, and a higher priority where this process may have one. Idempotent.
void go_first();

}  // namespace fathom

// How the thread that waits for triggers shares the processor.
//
// Purpose: a trigger is worth nothing when it is late, and stopping the rings takes microseconds: so that thread runs
// as soon as it wakes, whatever else runs. Thread safety: the calling thread only. Errors: none; without CAP_SYS_NICE
// it goes as far ahead as it may (base/thread_priority.h).
#pragma once

namespace fathom::snapshot {

// Real-time at the lowest priority; children that it forks are not.
void interrupt_others();

}  // namespace fathom::snapshot

// The one thread of the client library: hands the pool to the node's agent, and again to the next one.
//
// Purpose: traced threads never talk to anybody. The thread has all signals blocked, a small stack, and a table of file
// descriptors of its own, so that a program may close whatever it does not know, and a child of fork() does not
// keep the connection open when its parent is dead. Thread safety: any thread may ask for it. Errors: a thread that
// cannot be had, or not now (a signal handler), is tried again with a later chunk.
#pragma once

#include <signal.h>

namespace fathom::client {

// Whether it should be started, and may be tried.
bool helper_is_due();
// Starts it when this process has none. `mask`: the caller's signal mask before it blocked any; all are blocked now.
void want_helper(const sigset_t& mask);
// The same for callers who block nothing and know that they are outside of signal handlers.
void want_helper_safely();

}  // namespace fathom::client

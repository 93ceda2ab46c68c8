// The tracepoints of this program: what they are called, and which are on.
//
// Purpose: a place in the code is met when it runs for the first time; from then on it is described in the detail
// pool's table and can be switched. Modules (the executable, shared objects) that are unloaded take theirs along.
// Thread safety: meet() from anywhere; switch_tracepoints() and leave() hold a lock, and are not for signal handlers.
// Errors: what there is no room for stays off, and is counted (kLostTracepoints).
#pragma once

#include <string_view>

#include "client/detail/patterns.h"
#include "client/fathom/event_c.h"
#include "client/platform.h"

namespace fathom::client::detail {

uint32_t meet(fathom_tracepoint& point, fathom_module& module, const char* const* keys, const uint8_t* types);
void leave(fathom_module& module);

// What the program itself says of them (patterns.h). False: longer than what can be remembered, and nothing changed.
bool switch_tracepoints(std::string_view patterns);
// What its agent says; too much is ignored.
void switch_from_outside(std::string_view patterns);

// What is described so far, into a pool's table.
void copy_table(char* to);
void forget_parents_locks();

}  // namespace fathom::client::detail

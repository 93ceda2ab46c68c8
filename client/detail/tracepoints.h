// The tracepoints of this program: what they are called, and which are on.
//
// Purpose: a place in the code is met when it runs for the first time; from then on it is described in the detail
// pool's table and can be switched. Modules (the executable, shared objects) that are unloaded take theirs along.
// Thread safety: meet() from anywhere; switch_tracepoints() and leave() hold a lock, and are not for signal handlers.
// Errors: what there is no room for stays off, and is counted (kLostTracepoints).
#pragma once

#include <string_view>

#include "client/fathom/event_c.h"
#include "client/platform.h"

namespace fathom::client::detail {

uint32_t meet(fathom_tracepoint& point, fathom_module& module, const char* const* keys, const uint8_t* types);
void leave(fathom_module& module);

// "cache.*,-cache.hit": patterns, separated by commas; * is any text, ? any byte; a leading - switches off. The last
// one that fits counts; a tracepoint that none fits is as its code says. False: longer than what can be remembered, and
// nothing changed.
bool switch_tracepoints(std::string_view patterns);
bool fits(std::string_view pattern, std::string_view name);

// What is described so far, into a pool's table.
void copy_table(char* to);
void forget_parents_locks();

}  // namespace fathom::client::detail

// What happens once per program: when the library is loaded, or with the first span if that comes before.
//
// Purpose: reads the environment while it is safe to, chooses the clock, prepares for forks and for the ends of
// threads. Thread safety: the loader's constructors run alone. Errors: what cannot be had is done without.
#pragma once

namespace fathom::client {

void set_up();

// fathom_set_resource() was called, or a pool was made while it was: area 3 is written again.
void refresh_resource();

}  // namespace fathom::client

// How long an instruction takes here when nobody steps it: what the stepper's slowdown is held against.
//
// Purpose: where no counter of instructions exists, a loop whose instructions are known (calls, branches, loads and
// stores, as programs have them) stands for programs. Thread safety: any. Errors: none.
#pragma once

namespace fathom::snapshot::step {

// In ticks of the time-stamp counter; the best of some short tries.
double native_ticks_per_instruction();

}  // namespace fathom::snapshot::step

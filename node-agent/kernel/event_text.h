// One event as a line of text, for a person who looks at what the recorder saw.
//
// Thread safety: pure.
#pragma once

#include <string>

#include "node-agent/kernel/events.h"

namespace fathom::agent {

// "        12.345 us cpu1 4711/4712 system call 39 = 4711 took 310 ns"; the time is that since `origin_nano`.
std::string event_text(const KernelEvent& event, uint64_t origin_nano);

}  // namespace fathom::agent

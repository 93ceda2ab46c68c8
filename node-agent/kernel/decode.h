// From the bytes of a record to an event.
//
// Thread safety: pure functions. Errors: nothing, of a kind that is none.
#pragma once

#include <optional>

#include "node-agent/kernel/events.h"
#include "node-agent/kernel/record_layout.h"

namespace fathom::agent::kernel {

std::optional<KernelEvent> decode_record(const Record& record);

// Of the state that the scheduler keeps of a thread, and whether it was preempted (kSwitchPreempted).
SwitchReason switch_reason(uint32_t state);

}  // namespace fathom::agent::kernel

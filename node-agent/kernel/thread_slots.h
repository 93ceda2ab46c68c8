// What each thread of a chosen process is doing: the system call that it is in, and since when.
//
// Purpose: a call that never ends leaves no record. Thread safety: read_slots() beside the kernel's writes, by any
// number of threads; a slot that changes while it is read is skipped, because its call has just ended or begun.
// free_slots() once its process is no longer chosen. Units: nanoseconds of CLOCK_MONOTONIC.
#pragma once

#include <functional>
#include <span>

#include "node-agent/kernel/events.h"
#include "node-agent/kernel/record_layout.h"

namespace fathom::agent::kernel {

// Each call under way, as seen at `now_nano`.
void read_slots(std::span<const SlotSet> slots, uint64_t now_nano, const std::function<void(const KernelEvent&)>& sink);

// Makes room: those of this process's threads.
void free_slots(std::span<SlotSet> slots, pid_t pid);

}  // namespace fathom::agent::kernel

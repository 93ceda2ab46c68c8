// How many changes of threads the kernel did not tell of, by what it did tell.
//
// Purpose: there are kernels that run no program, and write no event of their own either, at some of the switches and
// wake-ups (docs/kernel-events.md). No counter of theirs says so. But the changes of a thread follow from each other:
// who leaves a processor has come to it, who comes has left one and was woken if it slept, and who calls the system,
// or faults, is on one. Each that cannot follow counts as one that is missing. A whole turn of which nothing was told
// is not noticed. Thread safety: a pure function. Units: nanoseconds of CLOCK_MONOTONIC.
#pragma once

#include <cstdint>
#include <span>

#include "node-agent/kernel/choices.h"
#include "node-agent/kernel/events.h"

namespace fathom::agent::kernel {

// `events` by time; only what is within [from, until) counts: all that was recorded then is among them.
uint64_t missing_changes(std::span<const KernelEvent> events, const ChoiceFilter& filter, uint64_t from_nano,
                         uint64_t until_nano);

}  // namespace fathom::agent::kernel

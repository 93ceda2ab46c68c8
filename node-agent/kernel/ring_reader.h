// Reads a processor's ring of records while the kernel goes on writing to it.
//
// Purpose: what overlaps a window, without stopping or locking anybody. The reader works like one of a sequence lock:
// it copies some records, and then asks how far the writers are by now; what they may have begun to overwrite is thrown
// away and counted. docs/formats/kernel-rings.md has the reasons why this is enough. Thread safety: any number of
// readers at once; the view's memory must outlive the call. Units: nanoseconds of CLOCK_MONOTONIC. Errors: none; losses
// are counted. A header or record that makes no sense (nobody but the kernel writes there) costs events, never more.
#pragma once

#include <cstdint>
#include <functional>

#include "node-agent/kernel/record_layout.h"

namespace fathom::agent::kernel {

// How much a record may be younger than one that was reserved after it: interrupts run between the reading of the clock
// and the reservation.
inline constexpr uint64_t kDisorderNano = 10'000'000;

struct RingView {
  const RingHeader* header;
  const Record* records;
  uint64_t capacity;  // records; a power of two
};

struct RingLosses {
  uint64_t overwritten = 0;
  uint64_t torn = 0;
  uint64_t complete_from_nano = 0;  // 0: nothing of the window was overwritten; UINT64_MAX: all of it
};

using RecordSink = std::function<void(const Record&)>;

// Hands over each record from `begin_nano` on (and some before), the newest first.
RingLosses read_ring(const RingView& ring, uint64_t begin_nano, const RecordSink& sink);

}  // namespace fathom::agent::kernel

// RepairClock: the age time of a directory that is repaired.
//
// Purpose: what a repair stamps continues the stamps of the source; the wall clock may be far from them. Thread safety:
// plain values and functions. Errors: of the new directory's disk. Damage to the source makes stamps unknown, and the
// rest of them counts.
#pragma once

#include <cstdint>
#include <string>

#include "store/clock/age_time.h"
#include "store/verify/store_source.h"

namespace fathom::store {

struct RepairClock {
  uint64_t newest_nano = 0;  // the newest stamp that is known of the source
  uint64_t now_nano = 0;     // at least that
  AgeState state;            // for the new directory
};

// Reads DIR/clock and the stamps of the source, whose database is open.
RepairClock read_repair_clock(StoreSource& source, const ClockReading& reading);

// Replaces the file `clock` of the new directory.
Result<> write_repair_clock(const RepairClock& clock, const std::string& directory);

}  // namespace fathom::store

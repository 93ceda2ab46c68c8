// Captures for tests: seeded, with everything in them that a capture may have.
#pragma once

#include <cstdint>

#include "capture/capture.h"

namespace fathom::capture::testing {

// The same for the same arguments everywhere. `size`: about so many events of each kind in a thread.
Capture random_capture(uint64_t seed, uint32_t size);
// One of everything, written by hand: the golden file's.
Capture sample_capture();

}  // namespace fathom::capture::testing

// When the tests' traces start, unless it matters: 6250 in a second.
#pragma once

#include "base/time.h"
#include "bench/workload.h"

namespace fathom::bench {

inline constexpr Schedule kTestSchedule{1'780'000'000 * kNanosPerSecond, 160'000};

}  // namespace fathom::bench

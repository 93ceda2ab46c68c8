// Durations in nanoseconds, for tests.
#pragma once

#include <cstdint>

namespace fathom::agent::testing {

inline constexpr uint64_t kMilli = 1'000'000;
inline constexpr uint64_t kSecond = 1000 * kMilli;

}  // namespace fathom::agent::testing

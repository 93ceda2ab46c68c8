// How long these tests wait for what has to happen: longer than it takes where it works, whatever runs besides.
#pragma once

#include <chrono>

namespace fathom::testing {

inline constexpr std::chrono::seconds kTestTimeout{120};

}  // namespace fathom::testing

// How long the window of a capture may be.
//
// Purpose: an agent cuts longer requests to this, and a query for captures that cover an instant looks no further back.
// Thread safety: a constant.
#pragma once

#include <cstdint>

#include "base/time.h"

namespace fathom {

inline constexpr uint64_t kLongestCaptureWindowNano = 10 * kNanosPerMinute;

}  // namespace fathom

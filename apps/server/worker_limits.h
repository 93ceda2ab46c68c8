// What holds for each fathom-worker that this server asks.
#pragma once

#include <cstddef>

namespace fathom {

inline constexpr int kWorkerLookMs = 50;  // how long a budget may be over before anybody notices
inline constexpr size_t kWorkerReadBytes = 64 << 10;
inline constexpr size_t kMostWorkerWordsBytes = 4096;  // of what it says when it fails

}  // namespace fathom

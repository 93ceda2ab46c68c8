// How many repetitions a randomized or stepping test runs. Under a sanitizer it runs a quarter of them.
//
// A sanitizer makes each repetition several times slower, and memory errors show in the first few. The release build
// runs all repetitions, and finds wrong results there.
//
// Thread safety: reads the environment.
#pragma once

#include <cstdint>
#include <cstdlib>

namespace fathom {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;
#elif !defined(__has_feature)
inline constexpr bool kSanitized = false;
#else
inline constexpr bool kSanitized = __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#endif

// Returns `ordinary`, or under a sanitizer a quarter of it, rounded up. FATHOM_TEST_FULL (`./dev test --full`) disables
// the reduction.
inline uint64_t repetitions(uint64_t ordinary) {
  const bool is_shortened = kSanitized && std::getenv("FATHOM_TEST_FULL") == nullptr;
  return is_shortened ? (ordinary + 3) / 4 : ordinary;
}

// A stepping test acts at every instruction without a sanitizer (1) and at every fifth under one (5): loops often have
// a multiple of four instructions, of which a stride of four would skip the same ones each time.
inline uint64_t repetition_stride() {
  return repetitions(4) == 4 ? 1 : 5;
}

}  // namespace fathom

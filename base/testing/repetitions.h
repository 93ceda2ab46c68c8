// How often a test repeats what it does with random input, or at one instant after the other.
//
// A sanitizer makes each repetition several times as slow, and what it looks for shows in the first of them. Whether
// all answers are right is found without it: there every test does all of its repetitions.
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

// `ordinary`; under a sanitizer a quarter of it, rounded up, unless FATHOM_TEST_FULL is set (`./dev test --full`).
inline uint64_t repetitions(uint64_t ordinary) {
  const bool is_shortened = kSanitized && std::getenv("FATHOM_TEST_FULL") == nullptr;
  return is_shortened ? (ordinary + 3) / 4 : ordinary;
}

// For what is done at one instant after the other: at every how many of them, 1 or 4.
inline uint64_t repetition_stride() {
  return 4 / repetitions(4);
}

}  // namespace fathom

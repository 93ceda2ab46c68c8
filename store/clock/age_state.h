// AgeState: all that AgeTime knows, as the file `clock` of a data directory holds it.
//
// Purpose: plain data and its byte format (docs/formats/data-directory.md). "Age time" is explained in age_time.h.
// Thread safety: plain values and functions. Units: nanoseconds. Errors: decode_age_state() returns kCorrupt for every
// input that encode_age_state() cannot have written.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace fathom::store {

// The host was off for `off_nano` when the age time was `at_nano`. Stamps below `at_nano` are from before.
struct AgeGap {
  uint64_t at_nano = 0;
  uint64_t off_nano = 0;
  bool operator==(const AgeGap&) const = default;
};

// The wall clock left the trusted offset by more than an hour and is not confirmed yet.
struct ClockDoubt {
  int64_t anchor_nano = 0;    // the offset when the wall clock was last stepped
  uint64_t stable_nano = 0;   // running time without a further step
  bool across_boots = false;  // the change came with a boot, so part of it may be time during which the host was off
  uint64_t since_nano = 0;    // across boots: the age time at that boot
  uint64_t off_nano = 0;      // across boots: the shortest time off that any wall clock reading suggested; 0: none did
  bool operator==(const ClockDoubt&) const = default;
};

struct AgeState {
  std::string boot_id;
  uint64_t boottime_nano = 0;
  uint64_t age_nano = 0;                // the age time at that boot time
  int64_t offset_nano = 0;              // the wall clock minus the age time
  std::optional<int64_t> trusted_nano;  // the offset when the wall clock was last trusted
  std::optional<ClockDoubt> doubt;
  std::vector<AgeGap> gaps;  // ascending
  bool operator==(const AgeState&) const = default;
};

inline constexpr size_t kMostAgeGaps = 64;
inline constexpr uint64_t kMostAgeNano = 1ULL << 62;  // the year 2116
inline constexpr size_t kMostAgeStateBytes = 4096;

// The state before the clock first runs. Stamps that are older than such a state are Unix times.
bool is_first_age_state(const AgeState& state);

std::string encode_age_state(const AgeState& state);
Result<AgeState> decode_age_state(std::string_view bytes);

}  // namespace fathom::store

// Clocks and the text forms of durations and instants that people type and read.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace fathom {

inline constexpr uint64_t kNanosPerMilli = 1'000'000;
inline constexpr uint64_t kNanosPerSecond = 1'000'000'000;
inline constexpr uint64_t kNanosPerMinute = 60 * kNanosPerSecond;
inline constexpr uint64_t kNanosPerHour = 60 * kNanosPerMinute;

uint64_t now_unix_nano();       // CLOCK_REALTIME: when things happened, never how long they took
uint64_t now_monotonic_nano();  // CLOCK_MONOTONIC: how long things took
uint64_t now_boottime_nano();   // CLOCK_BOOTTIME: as CLOCK_MONOTONIC, and it also counts while the host is suspended

// "250ms", "1h", "1h30m", "2.5s", "10us", "7d"; a bare number is refused, because its unit would be a guess.
Result<uint64_t> parse_duration_nano(std::string_view text);
// The shortest text that a person reads well: "1.24 s", "312 ms", "48.1 us", "730 ns".
std::string format_duration(uint64_t duration_nano);

// RFC 3339 ("2026-11-21T02:00:00.5Z", offsets allowed), of which the offset (then UTC), the seconds and the time of day
// (then midnight) may be left out; a decimal count of Unix seconds, milliseconds, microseconds or nanoseconds (told
// apart by magnitude; seconds may have a fraction); or "now", "now-15m". A space is read as the '+' that it was before
// an address was decoded.
Result<uint64_t> parse_instant_unix_nano(std::string_view text, uint64_t now_unix_nano);
std::string format_instant(uint64_t unix_nano);  // RFC 3339 in UTC with nanoseconds

}  // namespace fathom

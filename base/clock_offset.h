// ClockOffset: a sender's clock against the collector's.
//
// Purpose: corrected time = sent time + offset, give or take the error (docs/formats/ingest-stream.md). Thread safety:
// plain values. Units: nanoseconds.
#pragma once

#include <cstdint>
#include <optional>

namespace fathom {

struct ClockOffset {
  int64_t offset_nano = 0;  // the collector's clock minus the sender's CLOCK_REALTIME
  uint64_t error_nano = 0;  // the truth is within offset ± error
  bool operator==(const ClockOffset&) const = default;
};

// Stays within what 64 bits hold: a sum beyond either end is that end.
inline uint64_t corrected_unix_nano(uint64_t sent_unix_nano, const std::optional<ClockOffset>& clock) {
  if (!clock) return sent_unix_nano;
  uint64_t shift = static_cast<uint64_t>(clock->offset_nano);
  if (clock->offset_nano >= 0) return sent_unix_nano > UINT64_MAX - shift ? UINT64_MAX : sent_unix_nano + shift;
  shift = ~shift + 1;
  return sent_unix_nano < shift ? 0 : sent_unix_nano - shift;
}

}  // namespace fathom

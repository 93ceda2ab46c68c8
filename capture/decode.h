// Decoding of captures: from the bytes that an agent sent to plain values (docs/formats/capture.md).
//
// Purpose: the server's half. Thread safety: pure functions. Ownership: the result owns everything. Errors: kInvalid
// for what is no capture, kUnsupported for a version that is newer than this program, kExhausted beyond the limits,
// kCorrupt for the rest, with what and where. Hostility: nothing is believed. No more memory is taken than the limits
// say; no text but an event's value is longer than agents write (format.h); a count is checked against the bytes that
// are left before anything is reserved for it; indexes lead somewhere, numbers of enumerations are known, times of
// events do not decrease, and every text and value is within its thread's.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "capture/capture.h"

namespace fathom::capture {

struct DecodeLimits {
  uint64_t most_bytes = 256 << 20;                 // uncompressed
  uint64_t most_memory_bytes = uint64_t{1} << 30;  // what it becomes, and what is decompressed meanwhile not counted
};

// `memory_bytes`: what the result takes, as the limits count it.
Result<Capture> decode(std::string_view bytes, const DecodeLimits& limits = {}, uint64_t* memory_bytes = nullptr);

}  // namespace fathom::capture

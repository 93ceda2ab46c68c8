// PSB: synchronisation points of a packet stream, and the state that a processor writes behind each (PSB+).
//
// Purpose: where decoding may begin, and what the decode before it must have reached. A PSB+ that is not whole (an
// overflow falls into it) or does not say where the code stands says nothing about what ran before it. Thread safety:
// pure functions. Errors: none; damaged bytes have no header. Source of the idea: Intel's manual, chapter 33 (PSB,
// PSB+).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace fathom::snapshot {

inline constexpr size_t kPsbBytes = 16;
// Bytes in which a PSB+ is looked for; it has some sixty, and padding.
inline constexpr size_t kMostPsbHeaderBytes = 4096;

// What must be seen to be sure where one begins: payload before it may look like its beginning, nothing behind it does.
inline constexpr size_t kPsbScanBytes = kPsbBytes + 2;

// Where the first PSB at or behind `from` begins; bytes.size() when there is none. Less than kPsbScanBytes before the
// end it is a guess.
size_t find_psb(std::span<const uint8_t> bytes, size_t from);

struct PsbHeader {
  bool complete = false;       // up to its PSBEND, without damage
  std::optional<uint64_t> ip;  // the FUP's: where the code stood; none when recording was paused
  std::optional<uint64_t> tsc;
};

// `bytes` begin with a PSB.
PsbHeader read_psb_header(std::span<const uint8_t> bytes);

// Whether recording is on behind `bytes`, which begin with a PSB and end before one; `before`: whether it was on in
// front of them. A PSB+ without an address is written while it is off, or (errata) as if it were.
bool records_behind(std::span<const uint8_t> bytes, bool before);

}  // namespace fathom::snapshot

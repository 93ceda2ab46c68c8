// Constants of the bytes of a capture; docs/formats/capture.md has them in prose.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace fathom::capture::format {

inline constexpr std::string_view kMagic = "FTHMCAPT";
inline constexpr uint8_t kVersion = 2;
inline constexpr uint8_t kOldestVersion = 2;  // that was released, or will be
inline constexpr size_t kFrameHeadBytes = kMagic.size() + sizeof kVersion + sizeof(uint64_t);
inline constexpr size_t kTailBytes = sizeof(uint64_t);  // of a body: where its tables begin

// Of each text but the values of events: a tracepoint's name is the longest that agents write. Whoever reads says them
// anew for each event that names them.
inline constexpr size_t kMostTextBytes = UINT16_MAX;

inline constexpr uint8_t kEnded = 1;  // flags of the head

// An event's words: index << 1 | flag.
inline constexpr uint64_t kFewerValues = 1;     // of its tracepoint's: the number of values is said
inline constexpr uint64_t kSpansUncertain = 1;  // of its spans'

// What a kernel event has, beside its time, kind and processor.
enum KernelPart : uint8_t {
  kOther = 1,     // other_pid, other_tid
  kName = 2,      // other_name
  kEnd = 4,       // end_nano
  kCall = 8,      // syscall, arguments
  kCallEnd = 16,  // result
  kFault = 32,    // address, instruction, fault
  kAllParts = 63,
};
inline constexpr int kReasonShift = 4;  // in the byte of the kind

// The fewest bytes that one of each takes: what a count may promise.
inline constexpr size_t kLeastString = 1;
inline constexpr size_t kLeastAnchor = 3;
inline constexpr size_t kLeastTracepoint = 4;
inline constexpr size_t kLeastField = 2;
inline constexpr size_t kLeastSpanSet = 1;
inline constexpr size_t kSpanRefBytes = 24;
inline constexpr size_t kLeastLoss = 2;
inline constexpr size_t kLeastThread = 7;
inline constexpr size_t kLeastOpenSpan = kSpanRefBytes + 3;
inline constexpr size_t kLeastEvent = 3;
inline constexpr size_t kLeastKernelEvent = 4;

}  // namespace fathom::capture::format

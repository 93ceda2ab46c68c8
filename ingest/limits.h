// What both sides of the agents' stream count on before any message says it (docs/formats/ingest-stream.md).
//
// Thread safety: constants, and a pure function.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace fathom::ingest {

// Of a batch's `otlp`: an agent makes none that is larger before a Welcome told it a limit, and a collector takes all
// up to here. A smaller limit would come too late for batches that are made, or spooled, by then.
inline constexpr uint64_t kBatchBytesBeforeWelcome = 1536 << 10;

// Of an agent's message that is read as a whole: of all but a Batch, a CapturePart and a TracepointAnswer. The longest
// that agents send are some 50 KiB.
inline constexpr size_t kMostSmallMessageBytes = 64 << 10;
// Of a collector's message.
inline constexpr size_t kMostCollectorMessageBytes = 4 << 20;
// Texts are cut to so many bytes; names of services and operations to the store's limit, as those of spans are.
inline constexpr size_t kMostTextBytes = 256;
inline constexpr size_t kMostNameBytes = 1024;
// Lists are cut to so many entries.
inline constexpr size_t kMostLosses = 64;
inline constexpr size_t kMostCaptureIds = 1024;
// Entries of one SkippedCaptures; with the longest names they fit into a small message.
inline constexpr size_t kMostSkippedCaptures = 24;
static_assert(kMostSkippedCaptures * (2 * kMostNameBytes + 128) <= kMostSmallMessageBytes);
// Of one TracepointAnswer; tracepoints over all programs.
inline constexpr size_t kMostTracepointAnswerBytes = 1 << 20;
inline constexpr size_t kMostPrograms = 1024;
inline constexpr size_t kMostTracepoints = 20'000;

// Of RedactionRules: servers refuse a configuration with more, and agents apply none of a message that has more.
inline constexpr size_t kMostRedactionRules = 1000;
inline constexpr size_t kMostRedactionBytes = 512 << 10;  // of all rules
inline constexpr size_t kMostRedactionKeyBytes = 1024;
inline constexpr size_t kMostFingerprintBytes = 64;

// Of one CapturePart; agents of ours send smaller ones, so that spans do not wait behind them.
inline constexpr uint64_t kMostCapturePartBytes = 1 << 20;
// Captures of one stream that are begun and have no answer for good.
inline constexpr uint32_t kMostCapturesUnderWay = 8;

// Of one SnapshotPiece; and of one ImageNames, in names.
inline constexpr uint64_t kMostSnapshotPieceBytes = 1 << 20;
inline constexpr size_t kMostAskedImages = 8192;

// Of one Thresholds message: more entries are passed over, and gRPC takes no message that is much larger.
inline constexpr size_t kMostThresholds = 10'000;
inline constexpr size_t kMostThresholdBytes = 2 << 20;
// Of one TracepointRequest; one that has more is not obeyed.
inline constexpr size_t kMostPatterns = 64;
inline constexpr size_t kMostPatternBytes = 256;
// Of TracepointRules: an agent obeys none of a message that has more. Programs remember that many bytes, with a sign
// and a comma for each pattern.
inline constexpr size_t kMostRules = 256;
inline constexpr size_t kMostRulesBytes = 4000;
inline constexpr size_t bytes_of_rule(std::string_view pattern) {
  return pattern.size() + 2;
}

}  // namespace fathom::ingest

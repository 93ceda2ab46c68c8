// The bytes of a perf.data file, as far as <linux/perf_event.h> does not have them: what the perf tool adds to the
// kernel's records.
//
// Source: the kernel's tools/perf/Documentation/perf.data-file-format.txt, and what files of several versions hold.
#pragma once

#include <linux/perf_event.h>

#include <cstdint>
#include <string_view>

namespace fathom::snapshot::perf {

inline constexpr std::string_view kMagic = "PERFILE2";
inline constexpr std::string_view kMagicOtherOrder = "2ELIFREP";
inline constexpr std::string_view kMagicOld = "PERFFILE";

inline constexpr uint64_t kPipeHeaderBytes = 16;
inline constexpr uint64_t kFileHeaderBytes = 104;
inline constexpr uint64_t kRecordHeaderBytes = 8;  // type:u32, misc:u16, size:u16
inline constexpr size_t kBuildIdBytes = 20;        // the most that a field has room for

// Records of the tool's own.
enum UserRecord : uint32_t {
  kUserRecords = 64,  // numbers from here on
  kHeaderAttr = 64,
  kHeaderEventType = 65,
  kHeaderTracingData = 66,
  kHeaderBuildId = 67,
  kFinishedRound = 68,
  kIdIndex = 69,
  kAuxtraceInfo = 70,
  kAuxtrace = 71,
  kAuxtraceError = 72,
  kTimeConv = 79,
  kHeaderFeature = 80,
  kCompressed = 81,
  kFinishedInit = 82,
  kCompressed2 = 83,
};

// Parts of the header that a bit each says are there.
enum Feature : uint32_t {
  kBuildIdFeature = 2,
  kHostnameFeature = 3,
  kCpuidFeature = 9,
  kCmdlineFeature = 11,
  kDirectoryFeature = 24,  // the file is one of a directory: of which kind
  kFeatures = 256,
};

// misc, where <linux/perf_event.h> of one version lacks it.
inline constexpr uint16_t kMiscMapBuildId = 1 << 14;  // MMAP2 holds a build-id instead of an inode
inline constexpr uint16_t kMiscBuildIdSize = 1 << 15;

inline constexpr uint32_t kAuxtraceIntelPt = 1;

// Fields of AUXTRACE_INFO for Intel PT, in numbers of 64 bits.
enum IntelPtInfo : size_t {
  kPmuType,
  kTimeShift,
  kTimeMult,
  kTimeZero,
  kCapUserTimeZero,
  kTscBit,
  kNoRetCompBit,
  kHaveSchedSwitch,
  kSnapshotMode,
  kPerCpuMaps,
  kMtcBit,
  kMtcFreqBits,
  kTscCtcNumerator,
  kTscCtcDenominator,
  kCycBit,
  kMaxNonTurboRatio,
  kFilterBytes,
};

}  // namespace fathom::snapshot::perf

// Snapshot: what is known of a recorded stretch of control flow, apart from the packets themselves.
//
// Purpose: the one description that recorders and importers write and decoders read, whatever the source: Intel PT
// through perf, the software stepper, a perf.data of others, a raw stream. docs/formats/snapshot.md has the bytes,
// snapshot_file.h reads and writes them. Thread safety: plain values. Units: `tsc` is the processor's time-stamp
// counter; 0 in a sideband record means "from the beginning". Source of the idea: Intel's manual and perf.data for what
// a decoder must know.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/sha256.h"

namespace fathom::snapshot {

// How the packets came to be. A person who reads an answer is told: stepping slows a program thousandfold, and a
// stand-in, with which developers try the way of a snapshot where there is no Intel PT, recorded nothing that ran.
enum class Engine : uint8_t { kIntelPt = 1, kStep = 2, kStandIn = 3 };

// From where the snapshot was taken over.
enum class Origin : uint8_t { kRecorded = 1, kPerfData = 2, kRawStream = 3 };

// The processor as libipt's errata want it; all zero when unknown.
struct Cpu {
  bool intel = false;
  uint16_t family = 0;
  uint8_t model = 0;
  uint8_t stepping = 0;

  bool operator==(const Cpu&) const = default;
};

// What turns packets into time.
struct Timing {
  uint8_t mtc_freq = 0;         // IA32_RTIT_CTL.MTCFreq
  uint8_t nom_freq = 0;         // MSR_PLATFORM_INFO[15:8], the maximum ratio without turbo
  uint32_t cpuid_0x15_eax = 0;  // TSC to core crystal clock: ebx / eax
  uint32_t cpuid_0x15_ebx = 0;
  // TSC to nanoseconds of CLOCK_MONOTONIC (perf's clock): zero + (tsc * mult >> shift). mult 0: not known, ticks are
  // shown.
  uint64_t conversion_zero_nano = 0;
  uint32_t conversion_mult = 0;
  uint16_t conversion_shift = 0;

  bool operator==(const Timing&) const = default;
};

// Packets of one CPU (tid and pid -1), or of one thread (cpu -1, or the CPU that it was bound to).
struct Stream {
  int32_t cpu = -1;
  int32_t pid = -1;
  int32_t tid = -1;
  // Where its bytes lie in the file, in order. A piece whose `offset` (of the recording) is not the end of the piece
  // before it lies behind a loss: decoding begins anew there, and counts a gap.
  struct Piece {
    uint64_t offset = 0;
    uint64_t file_offset = 0;
    uint64_t bytes = 0;

    bool operator==(const Piece&) const = default;
  };
  std::vector<Piece> pieces;

  uint64_t packet_bytes() const {
    uint64_t bytes = 0;
    for (const Piece& piece : pieces) bytes += piece.bytes;
    return bytes;
  }
  bool operator==(const Stream&) const = default;
};

enum class ImageKind : uint8_t {
  kElf = 1,   // an ELF file; mapped by its file offsets
  kFlat = 2,  // bytes that lie in memory as they are: vDSO dumps, kernel text, jitted code, raw images
};

// Executable bytes, known by their content. Files lie in a directory (directory.h) under their SHA-256.
struct Image {
  std::string name;      // the path at the time of recording, or "[vdso]", "[kernel.kallsyms]"
  std::string build_id;  // raw bytes; empty when there is none
  ImageKind kind = ImageKind::kElf;
  Sha256 content;      // zero: the bytes are missing, `missing` says why
  uint64_t bytes = 0;  // size of the content
  std::string missing;

  bool operator==(const Image&) const = default;
};

inline constexpr uint32_t kNoImage = UINT32_MAX;

enum class SidebandKind : uint8_t {
  kMap = 1,         // [address, address + length) of `pid` shows `image` from `file_offset` on; executable
  kUnmap = 2,       // [address, address + length) of `pid` shows nothing any more
  kName = 3,        // thread `tid` of `pid` is called `text`; with kFlagExec the process runs another program
  kFork = 4,        // `pid`/`tid` come from `other_pid`/`other_tid`: a new process if the pids differ
  kExit = 5,        // thread `tid` ends; the stepper's: by signal `length`, at `address`, whose instruction did not run
  kSwitchIn = 6,    // `tid` runs on `cpu` from now on
  kSwitchOut = 7,   // and no longer; kFlagPreempted
  kTraceStart = 8,  // PT of `tid` began (PERF_RECORD_ITRACE_START)
  kAuxLoss = 9,     // packets of `cpu` were lost around here; `flags` as in the AUX record
  kLost = 10,       // `length` sideband records of `cpu` were lost: windows that it touches are marked
  kKernelSymbol = 11,  // `text` at [address, address + length) of the kernel; kFlagGone when it goes
  kTextPoke = 12,      // the kernel's code at `address` becomes `text` (new bytes); `other_text` were the old ones
  // The stepper's: `tid` enters system call number `length` at `address`, and returns `file_offset` ticks later (0:
  // unknown); with kFlagUnderWay it has not returned by then.
  kSystemCall = 13,
  kSignal = 14,    // the stepper's: signal `length` is delivered to `tid`
  kGap = 15,       // the recorder's: instructions ran unrecorded; `text` says why, `length` how many or 0
  kLockWait = 16,  // the stepper's: `tid` sleeps for the lock at `address`, a `text`, that `other_tid` holds
  // Packets are only of code in `length` bytes from `file_offset` of the file `text` on, or from `address` on where
  // `text` is empty; with kFlagStopsTrace recording ends there. The n-th row is the processor's n-th filter.
  kAddressFilter = 17,
  // The stepper's: threads of `pid` were stepped from `address` nanoseconds since 1970 on, for `length` nanoseconds.
  kStepped = 18,
};

enum SidebandFlags : uint32_t {
  kFlagExec = 1,
  kFlagPreempted = 2,
  kFlagGone = 4,
  kFlagKernel = 8,  // a map of the kernel's address space: seen by every process
  kFlagAuxTruncated = 16,
  kFlagAuxOverwritten = 32,
  kFlagAuxPartial = 64,
  kFlagAuxCollision = 128,
  kFlagStopsTrace = 256,
  kFlagWindow = 512,     // a gap at the end of a window of the thread: code between two windows was not requested
  kFlagUnderWay = 1024,  // a system call that was interrupted and restarted, or had not returned when recording ended
};

// One row of the history of processes. What a kind does not use is zero.
struct Sideband {
  SidebandKind kind = SidebandKind::kMap;
  uint64_t tsc = 0;
  int32_t cpu = -1;
  int32_t pid = -1;
  int32_t tid = -1;
  int32_t other_pid = -1;
  int32_t other_tid = -1;
  uint32_t flags = 0;
  uint64_t address = 0;
  uint64_t length = 0;
  uint64_t file_offset = 0;
  uint32_t image = kNoImage;  // index into Snapshot::images
  std::string text;
  std::string other_text;

  bool operator==(const Sideband&) const = default;
};

// Data that was dropped before it came here, by the name of the reason.
struct Loss {
  // What stands before the name of records that an import has no use for, which is no loss.
  static constexpr std::string_view kUnused = "perf.data records not used: ";
  bool is_loss() const { return !name.starts_with(kUnused); }

  std::string name;
  uint64_t count = 0;

  bool operator==(const Loss&) const = default;
};

// What asked for it, where something did.
struct Trigger {
  std::string reason;  // "overdue", "slow", "program", "symbol", "requested", "window"
  uint64_t tsc = 0;
  int32_t tid = -1;
  Id<16> trace_id;
  Id<8> span_id;

  bool operator==(const Trigger&) const = default;
};

struct Snapshot {
  Engine engine = Engine::kIntelPt;
  Origin origin = Origin::kRecorded;
  Cpu cpu;
  Timing timing;
  std::string host;
  std::string command;          // what was recorded, as a person would type it
  int64_t taken_unix_nano = 0;  // when its last window was over; 0: unknown
  // How many times slower the recorded threads ran than without us; 0: not measured.
  double slowdown = 0;
  Trigger trigger;
  std::vector<Stream> streams;
  std::vector<Image> images;
  std::vector<Sideband> sideband;  // by tsc; equal ones in the order of recording
  std::vector<Loss> losses;

  bool operator==(const Snapshot&) const = default;
};

}  // namespace fathom::snapshot

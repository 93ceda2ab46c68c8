// SnapshotSummary: what the server remembers of a stored snapshot: what lists show, and which images it needs.
//
// Purpose: a description can be large; what thousands of snapshots cost in memory must not be. Thread safety: plain
// values. Errors: kExhausted for a description that has more of something than the server keeps; it names what.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "snapshot/format/snapshot_file.h"

namespace fathom::query {

using snapshot::SnapshotId;

// Beyond these a description is none that a recorder writes.
inline constexpr size_t kMostSnapshotImages = 8192;
inline constexpr size_t kMostSnapshotStreams = 65'536;
inline constexpr size_t kMostSnapshotLosses = 256;
inline constexpr size_t kMostImageTextBytes = 64 << 10;  // of a path, or of why bytes are missing
inline constexpr size_t kMostShownTextBytes = 1024;      // of a host, a reason, the name of a loss
// More are remembered as one from the first to the last, of as many processes.
inline constexpr size_t kMostSteppedWindows = 64;
// Of a stepped process; of one that has more, or one whose name is longer, nothing is remembered.
inline constexpr size_t kMostPrograms = 8;
inline constexpr size_t kMostProgramBytes = 255;

// When the stepper held a process, by the clock of the snapshot's host.
struct SteppedWindow {
  int32_t pid = 0;
  uint64_t begin_unix_nano = 0;
  uint64_t end_unix_nano = 0;
  bool operator==(const SteppedWindow&) const = default;
};

struct SnapshotSummary {
  SnapshotId id;
  uint64_t bytes = 0;
  uint64_t received_unix_nano = 0;   // by the wall clock, as it ran when this was read
  uint64_t received_stamp_nano = 0;  // by the age clock; retention goes by this
  bool damaged = false;              // it cannot be read any more: nothing below is known
  snapshot::Engine engine = snapshot::Engine::kIntelPt;
  snapshot::Origin origin = snapshot::Origin::kRecorded;
  uint64_t taken_unix_nano = 0;  // 0: not known
  double slowdown = 0;
  std::string host;
  std::string command;  // the beginning of a long one
  snapshot::Trigger trigger;
  int32_t lock_holder = -1;      // of the first of held_locks(); -1: none is known
  int32_t blocking_thread = -1;  // the last thread of that lock's chain of holders; -1: none is known
  size_t streams = 0;
  uint64_t packet_bytes = 0;  // of all of them
  size_t images = 0;
  size_t unreadable_images = 0;  // whose bytes the recorder could not have
  std::vector<snapshot::Loss> losses;
  std::vector<Sha256> contents;  // of its images, each once
  std::vector<SteppedWindow> stepped;
  // Of stepped processes, by id: what they run, by the base names of the files in their memory that are no libraries.
  std::map<int32_t, std::vector<std::string>> programs;

  uint64_t memory_bytes() const;
  // By which lists are ordered, newest first.
  uint64_t instant_unix_nano() const { return taken_unix_nano != 0 ? taken_unix_nano : received_unix_nano; }
};

struct StoredSnapshot {
  SnapshotId id;
  uint64_t bytes = 0;
  uint64_t received_unix_nano = 0;
  uint64_t received_stamp_nano = 0;
};

Result<SnapshotSummary> summarize(const StoredSnapshot& stored, const snapshot::Snapshot& snapshot);

}  // namespace fathom::query

// What packets a snapshot has, by kind.
//
// Purpose: the statistics of a recording, and the check of what was read against what others count. Names are those of
// Intel's manual, as perf prints them. Thread safety: a pure function. Memory: a window, whatever the length. Errors:
// the file's; bytes that are no packet are counted, and counting goes on at the next synchronisation point.
#pragma once

#include <cstdint>
#include <map>
#include <string_view>

#include "base/result.h"
#include "snapshot/format/snapshot_file.h"

namespace fathom::snapshot {

struct PacketCount {
  uint64_t count = 0;
  uint64_t bytes = 0;

  bool operator==(const PacketCount&) const = default;
};

struct PacketCounts {
  std::map<std::string_view, PacketCount> kinds;  // "TNT", "TIP", "TIP.PGE", "PSB", ...
  uint64_t bytes = 0;                             // of all streams
  uint64_t skipped_bytes = 0;                     // before the first synchronisation point of a stretch
  uint64_t bad_bytes = 0;                         // no packets
};

// Of the first `most_bytes` of each stretch, if it is longer.
Result<PacketCounts> count_packets(const SnapshotFile& file, uint64_t most_bytes = UINT64_MAX);

}  // namespace fathom::snapshot

// Snapshots as a table: those of this host, and those of a server.
//
// Thread safety: pure functions. Cells go through printable(). Units: in names.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace fathom::cli {

struct SnapshotRow {
  std::string id;
  std::string where;  // "here", "server", "both"; of all or of none
  uint64_t added_unix_nano = 0;
  std::string problem;  // why it cannot be read; then nothing below is known
  std::string engine;   // "pt", "step", "stand-in"
  double slowdown = 0;  // 0: not measured
  std::string from;     // "recorded", "perf.data", "raw stream"
  uint64_t packet_bytes = 0;
  uint64_t streams = 0;
  uint64_t images = 0;
  uint64_t images_missing = 0;
  std::string command;
};

std::string snapshots_table(const std::vector<SnapshotRow>& rows, size_t columns);

}  // namespace fathom::cli

// A snapshot in a directory of its own, and its flow put together again: for tests of whatever decodes.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "snapshot/decode/analysis.h"
#include "snapshot/decode/testing/program.h"

namespace fathom::snapshot {

// Keeps everything.
class Recorder : public Analysis {
 public:
  std::unique_ptr<FlowPart> part(size_t stream) override;
  bool merge(std::unique_ptr<FlowPart> part) override;

  std::vector<FlowItem> items;
  size_t parts = 0;
  size_t stop_after = SIZE_MAX;
};

// A directory that is removed with this.
class SnapshotPlace {
 public:
  SnapshotPlace();
  ~SnapshotPlace();
  SnapshotPlace(const SnapshotPlace&) = delete;
  SnapshotPlace& operator=(const SnapshotPlace&) = delete;

  const SnapshotDirectory& directory() const { return *directory_; }
  // A flat image; its number in `snapshot`, which is given a map of it for `pid` (-1: all).
  uint32_t add_code(Snapshot& snapshot, const std::string& bytes, uint64_t address, int32_t pid = -1, uint64_t tsc = 0);
  // `streams[i]` are the packets of snapshot.streams[i], which are added where there are too few.
  SnapshotFile write(Snapshot snapshot, const std::vector<std::string>& streams);

 private:
  std::string path_;
  std::optional<SnapshotDirectory> directory_;
};

// The addresses of all instructions of the flow, by the program's knowledge of where they begin. An address that is
// none of its instructions is one of ~0.
std::vector<uint64_t> addresses(const std::vector<FlowItem>& items, const Program& program);

}  // namespace fathom::snapshot

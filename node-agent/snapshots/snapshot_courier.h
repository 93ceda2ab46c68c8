// SnapshotCourier: carries what waits in the SnapshotSpool to the collector, on a thread of its own.
//
// Purpose: the oldest snapshot first: of its images those that the collector says it lacks, then itself, piece by piece
// from where the collector has it already. Beside the agent's stream, and with a lower priority: spans do not wait for
// hundreds of megabytes. While the collector is away all waits on the disk, and is tried again after `first_pause_nano`
// to `longest_pause_nano`. What the collector refuses kAttempts times is dropped, and counted. Thread safety: notify()
// from any thread. Ownership: of the link; the spool must outlive it. Its end breaks off; the next agent goes on.
#pragma once

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "node-agent/snapshots/snapshot_link.h"
#include "node-agent/snapshots/snapshot_spool.h"

namespace fathom::agent {

struct SnapshotCourierOptions {
  uint64_t first_pause_nano = 200'000'000;
  uint64_t longest_pause_nano = 30'000'000'000;
};

class SnapshotCourier {
 public:
  static constexpr uint32_t kAttempts = 3;

  SnapshotCourier(SnapshotSpool& spool, std::unique_ptr<SnapshotLink> link, SnapshotCourierOptions options = {});
  ~SnapshotCourier();

  void notify();  // there is something new

 private:
  enum class Outcome : uint8_t { kSent, kLater, kRefused };

  void run();
  Outcome send_all();
  Outcome send(const snapshot::SnapshotId& id);
  Outcome send_images(const snapshot::Snapshot& description);
  Outcome send_image(const Sha256& image);
  Outcome send_file(const ContentName& name, const std::string& path);
  Outcome send_pieces(const ContentName& name, int file, uint64_t total_bytes);
  void refused(const snapshot::SnapshotId& id);
  bool stops();

  SnapshotSpool& spool_;
  const std::unique_ptr<SnapshotLink> link_;
  const SnapshotCourierOptions options_;
  std::map<snapshot::SnapshotId, uint32_t> refusals_;
  uint64_t asked_pause_nano_ = 0;  // by the collector, last
  std::string why_;                // it had to wait

  std::mutex mutex_;
  std::condition_variable changed_;
  bool has_news_ = true;
  bool stops_ = false;
  std::thread thread_;
};

}  // namespace fathom::agent

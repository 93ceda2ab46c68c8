// FlowRecorder: what SnapshotService needs of whatever records control flow: Intel PT, or a test's script.
//
// Thread safety: two threads: the listener's calls on one, the keeper's on another, side by side; but between stop()
// and the end of take() no further stop(), and none while take() runs. Ownership: of events and rings.
// Errors: kinds of base/result.h, in words.
#pragma once

#include <poll.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "base/result.h"
#include "node-agent/snapshots/snapshot_bell.h"
#include "snapshot/format/snapshot_file.h"

namespace fathom::agent {

struct CutSnapshot {
  snapshot::SnapshotId id;
  uint64_t packet_bytes = 0;
  uint64_t left_out_bytes = 0;   // packets of the window, of times when others' processes ran
  uint64_t unrecorded_nano = 0;  // from the stop until recording went on
};

class FlowRecorder {
 public:
  virtual ~FlowRecorder() = default;

  // ---- the listener: runs before others, does nothing that waits
  virtual void stop(const SnapshotAsk& ask) = 0;
  // Readable when a function that is waited for was reached.
  virtual std::vector<pollfd> events() { return {}; }
  // By whom, if it was. That program does not reach it a second time until listen_again().
  virtual std::optional<SnapshotAsk> reached() { return std::nullopt; }
  virtual void listen_again() {}

  // ---- the keeper
  virtual std::vector<pollfd> drain_events() = 0;
  virtual void drain() = 0;
  // Whether a snapshot for it may be cut: it is known whose programs it may show, or it may show everybody's.
  virtual bool knows_user(const SnapshotAsk& /*ask*/) { return true; }
  // Recording goes on without a snapshot.
  virtual void resume() {}
  // Stops, if nobody has; cuts the window out; recording goes on.
  virtual Result<CutSnapshot> take(const SnapshotAsk& ask) = 0;
  // True: events() has more now.
  virtual bool program_runs(int32_t /*pid*/) { return false; }
};

}  // namespace fathom::agent

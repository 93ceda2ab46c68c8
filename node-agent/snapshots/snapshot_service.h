// SnapshotService: from the bell to a snapshot on the disk, by two threads of its own.
//
// Purpose: the listener sleeps until somebody rings, or a function that is waited for is reached; then it stops the
// rings, before everybody else, and does nothing besides. The keeper reads what the rings of the sideband say, cuts the
// window out of the stopped ones, has them go on, and writes the snapshot. One at a time: who rings meanwhile is
// counted as `busy`; who rings more often than `rate` allows, as `rate`; people's requests are not limited, and one of
// them waits. Thread safety: SnapshotBell's calls from any thread. Ownership: of the recorder; `cut` is called on the
// keeper's thread. Its end finishes what is stopped. Errors: counted (snapshot_metrics.h) and logged.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "base/fd.h"
#include "node-agent/snapshots/flow_recorder.h"
#include "node-agent/triggers/trigger_limits.h"

namespace fathom::agent {

struct SnapshotServiceOptions {
  RateLimit rate{0.2, 3};
  uint64_t drain_nano = 100'000'000;
  uint64_t symbol_pause_nano = 1'000'000'000;  // after one that was not cut
  std::function<void(const CutSnapshot&)> cut;
};

class SnapshotService final : public SnapshotBell {
 public:
  SnapshotService(SnapshotServiceOptions options, std::unique_ptr<FlowRecorder> recorder);
  ~SnapshotService() override;

  void ring(const SnapshotAsk& ask) override;
  void program_runs(std::shared_ptr<const WatchedProgram> program) override;
  void program_ended(const WatchedProgram& program) override;

 private:
  enum class Phase : uint8_t { kRecording, kRung, kStopped };

  bool admit(const SnapshotAsk& ask);
  void begin(const SnapshotAsk& ask);
  // ---- the listener
  void listen();
  bool wait_for_bell();
  void stop_rings();
  void look_for_symbol();
  int listen_millis() const;
  // ---- the keeper
  void keep();
  void look_at_programs();
  void take();
  void name_span(SnapshotAsk& ask);
  void tell(const SnapshotAsk& ask, const Result<CutSnapshot>& taken);

  const SnapshotServiceOptions options_;
  const std::unique_ptr<FlowRecorder> recorder_;
  Fd bell_;        // wakes the listener
  Fd for_keeper_;  // wakes the keeper

  std::mutex mutex_;  // of what follows
  bool stops_ = false;
  Phase phase_ = Phase::kRecording;
  SnapshotAsk ask_;                     // of the snapshot that is being cut
  std::optional<SnapshotAsk> waiting_;  // of a person, who wants what is now
  uint64_t rung_nano_ = 0;
  bool wants_symbols_ = false;  // those that were reached are to be waited for again
  bool listener_is_over_ = false;
  TokenBucket bucket_;
  std::map<uint32_t, std::shared_ptr<const WatchedProgram>> programs_;  // that run, by their serials
  std::vector<int32_t> new_programs_;                                   // by their processes

  uint64_t listen_again_nano_ = 0;  // the listener's; 0: it listens
  std::thread listener_;
  std::thread keeper_;
};

// Where Intel PT was asked for and cannot be had: counts what is not cut.
class DeafBell final : public SnapshotBell {
 public:
  void ring(const SnapshotAsk& ask) override;
  void program_runs(std::shared_ptr<const WatchedProgram> /*program*/) override {}
  void program_ended(const WatchedProgram& /*program*/) override {}
};

}  // namespace fathom::agent

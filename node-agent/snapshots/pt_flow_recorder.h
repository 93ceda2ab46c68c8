// PtFlowRecorder: a node's Intel PT as a FlowRecorder.
//
// Purpose: the one place of the agent that knows snapshot/record: arms the whole node, turns nanoseconds into the
// processor's ticks, determines whose programs a snapshot may show, waits for a function in traced programs. Thread
// safety: as FlowRecorder. Ownership: the system and the directory must outlive it. Errors of arm(): what `fathom
// doctor --pt` would say, with the cure.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "node-agent/snapshots/flow_recorder.h"
#include "snapshot/record/pt/pt_recorder.h"
#include "snapshot/record/pt/symbol_place.h"
#include "snapshot/record/pt/symbol_trigger.h"

namespace fathom::agent {

struct PtFlowOptions {
  snapshot::PtOptions pt;
  uint64_t window_nano = 50'000'000;  // before what triggered
  std::string symbol;                 // FILE:FUNCTION, or empty
  bool all_users = false;             // else of the triggering process's user alone
  bool private_images = false;        // copies of files too that not everybody may read
};

class PtFlowRecorder final : public FlowRecorder {
 public:
  static constexpr size_t kMostWatched = 64;  // programs in which the function is waited for

  static Result<std::unique_ptr<PtFlowRecorder>> arm(snapshot::PerfSystem& system,
                                                     const snapshot::SnapshotDirectory& directory,
                                                     const PtFlowOptions& options);

  // Whether the processor has PTWRITE, and what programs write by it is recorded.
  bool marks_spans() const { return options_.pt.ptwrite; }

  void stop(const SnapshotAsk& ask) override;
  std::vector<pollfd> events() override;
  std::optional<SnapshotAsk> reached() override;
  void listen_again() override;

  std::vector<pollfd> drain_events() override { return recorder_->poll_events(); }
  void drain() override;
  bool knows_user(const SnapshotAsk& ask) override { return options_.all_users || user_of(ask); }
  void resume() override { (void)recorder_->resume(); }
  Result<CutSnapshot> take(const SnapshotAsk& ask) override;
  bool program_runs(int32_t pid) override;

 private:
  PtFlowRecorder(snapshot::PerfSystem& system, PtFlowOptions options) : system_(system), options_(std::move(options)) {}

  struct Thread {
    bool exists = false;
    int32_t cpu = -1;  // where it runs, or ran last
  };
  Thread thread_of(const SnapshotAsk& ask) const;
  std::optional<uint32_t> user_of(const SnapshotAsk& ask) const;
  uint64_t tsc_at(uint64_t monotonic_nano) const;
  void drop_ended();

  snapshot::PerfSystem& system_;
  const PtFlowOptions options_;
  std::unique_ptr<snapshot::PtRecorder> recorder_;
  std::optional<snapshot::SymbolPlace> symbol_;
  std::vector<snapshot::SymbolTrigger> watched_;  // the listener's
  std::mutex mutex_;                              // of what follows
  std::vector<snapshot::SymbolTrigger> new_;      // made by the keeper
  size_t watches_ = 0;                            // of both
};

}  // namespace fathom::agent

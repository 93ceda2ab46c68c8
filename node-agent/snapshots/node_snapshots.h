// NodeSnapshots: a node's Intel PT from its bell to the collector: recorder, service, spool and courier, joined.
//
// Purpose: what the agent's program starts with --pt. Where the host cannot, it says so in one line, with the cure, and
// counts every trigger that is not cut (fathom_agent_pt_armed is 0). What a former agent left on the disk is sent in
// any case. Thread safety: the bell's any thread; everything else one. Ownership: of all parts; triggers must not ring
// after its end. Errors: make() for what the user can cure by other flags: a directory, a symbol.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "node-agent/snapshots/pt_flow_recorder.h"
#include "node-agent/snapshots/snapshot_courier.h"
#include "node-agent/snapshots/snapshot_service.h"
#include "node-agent/snapshots/snapshot_spool.h"

namespace fathom::agent {

struct NodeSnapshotOptions {
  bool armed = false;
  bool stand_in = false;  // for developers: docs/intel-pt.md
  PtFlowOptions flow;
  std::string directory;
  uint64_t spool_bytes = 1ull << 30;
  SnapshotServiceOptions service;
};

class NodeSnapshots {
 public:
  // Nothing to do, neither now nor from before: null.
  static Result<std::unique_ptr<NodeSnapshots>> make(const NodeSnapshotOptions& options,
                                                     const std::function<std::unique_ptr<SnapshotLink>()>& open_link);
  // Null: not asked for.
  SnapshotBell* bell() const { return bell_.get(); }
  // What is beyond it goes with the next snapshot.
  void set_spool_limit(uint64_t bytes) { spool_->set_limit(bytes); }
  bool records() const { return system_ != nullptr; }
  // What programs write by PTWRITE is recorded, too.
  bool marks_spans() const { return marks_spans_; }

 private:
  Result<> arm(const NodeSnapshotOptions& options);
  Result<> start(const NodeSnapshotOptions& options);

  // In the order in which they are to be made; they end the other way round.
  std::unique_ptr<SnapshotSpool> spool_;
  std::unique_ptr<SnapshotCourier> courier_;
  std::unique_ptr<snapshot::PerfSystem> system_;
  std::unique_ptr<SnapshotBell> bell_;
  bool marks_spans_ = false;
};

}  // namespace fathom::agent

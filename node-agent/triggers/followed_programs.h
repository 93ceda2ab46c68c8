// FollowedPrograms: has the sources follow every traced program for as long as it lives.
//
// Thread safety: none; on the agent's loop. The sources are called on the worker's thread. Ownership: what it refers to
// must outlive it.
#pragma once

#include <cstdint>
#include <map>

#include "node-agent/triggers/capture_worker.h"
#include "node-agent/triggers/program_listener.h"

namespace fathom::agent {

class FollowedPrograms : public ProgramListener {
 public:
  FollowedPrograms(const Sources& sources, CaptureWorker& worker) : sources_(sources), worker_(worker) {}

  // One that ended is followed until it is gone: its last events are of interest.
  void changed(const std::shared_ptr<const WatchedProgram>& program) override {
    if (program->ended) return;
    auto known = followed_.find(program->serial);
    if (known != followed_.end() && known->second == program->process) return;
    if (known != followed_.end()) forget(known->second);  // the pool has another process now
    worker_.post([&sources = sources_, process = program->process] { sources.follow(process, FollowReason::kTraced); });
    followed_[program->serial] = program->process;
  }
  void gone(const WatchedProgram& program) override {
    auto known = followed_.find(program.serial);
    if (known == followed_.end()) return;
    forget(known->second);
    followed_.erase(known);
  }

 private:
  void forget(const ProcessId& process) {
    worker_.post([&sources = sources_, process] { sources.forget(process, FollowReason::kTraced); });
  }

  const Sources& sources_;
  CaptureWorker& worker_;
  std::map<uint32_t, ProcessId> followed_;  // by serial
};

}  // namespace fathom::agent

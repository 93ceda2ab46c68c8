// FollowedPrograms: has the sources follow every traced program for as long as it lives, and somewhat longer.
//
// Purpose: captures of a program's last requests are made some seconds after these ended. A program that exits at once
// would otherwise be forgotten before. Thread safety: none; on the agent's loop. The sources are called on the worker's
// thread. Ownership: what it refers to must outlive it. Bounds: kMostEnded ended programs; the oldest is forgotten
// first.
#pragma once

#include <cstdint>
#include <deque>
#include <map>

#include "base/time.h"
#include "node-agent/triggers/capture_worker.h"
#include "node-agent/triggers/program_listener.h"

namespace fathom::agent {

class FollowedPrograms : public ProgramListener {
 public:
  static constexpr uint64_t kKeptNano =
      12 * kNanosPerSecond;  // the longest delay of a copy (ProvisionalOptions), and more
  static constexpr size_t kMostEnded = 256;

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
    ended_.push_back({known->second, now_nano_ + kKeptNano});
    followed_.erase(known);
    if (ended_.size() > kMostEnded) forget_oldest();
  }
  void step(uint64_t now_nano) override {
    now_nano_ = now_nano;
    while (!ended_.empty() && ended_.front().until_nano <= now_nano) forget_oldest();
  }

 private:
  struct Ended {
    ProcessId process;
    uint64_t until_nano = 0;
  };

  void forget_oldest() {
    forget(ended_.front().process);
    ended_.pop_front();
  }
  void forget(const ProcessId& process) {
    worker_.post([&sources = sources_, process] { sources.forget(process, FollowReason::kTraced); });
  }

  const Sources& sources_;
  CaptureWorker& worker_;
  std::map<uint32_t, ProcessId> followed_;  // by serial
  std::deque<Ended> ended_;                 // oldest first
  uint64_t now_nano_ = 0;                   // of the last step
};

}  // namespace fathom::agent

#include "node-agent/triggers/kernel_events.h"

#include <algorithm>

namespace fathom::agent {

FollowedProcesses::Followed* FollowedProcesses::find(const ProcessId& process) {
  auto found =
      std::find_if(followed_.begin(), followed_.end(), [&](const Followed& one) { return one.process == process; });
  return found == followed_.end() ? nullptr : &*found;
}

// Why not; empty when it is.
std::string FollowedProcesses::follow(const ProcessId& process) {
  if (!recorder_ && failure_.empty()) {
    Result<std::unique_ptr<KernelRecorder>> made = KernelRecorder::create(options_);
    if (made)
      recorder_ = *std::move(made);
    else
      failure_ = made.error().message;
  }
  if (!recorder_) return failure_;
  Result<ProcessId> chosen = recorder_->choose(process.pid);
  if (!chosen) return chosen.error().message;
  if (*chosen == process) return "";
  recorder_->forget(*chosen);  // of the same number, and another one
  return "the process was gone";
}

void FollowedProcesses::choose(const ProcessId& process) {
  Followed* known = find(process);
  if (known == nullptr) known = &followed_.emplace_back(Followed{process, 0, follow(process)});
  ++known->times;
}

void FollowedProcesses::forget(const ProcessId& process) {
  Followed* known = find(process);
  if (known == nullptr || --known->times > 0) return;
  if (known->failure.empty()) recorder_->forget(process);
  std::erase_if(followed_, [&](const Followed& one) { return one.process == process; });
}

KernelRecorder* FollowedProcesses::recorder_of(const ProcessId& process, std::string& missing) {
  const Followed* known = find(process);
  if (known == nullptr) return nullptr;
  if (known->failure.empty()) return recorder_.get();
  missing = known->failure;
  return nullptr;
}

std::optional<KernelDepth> KernelEvents::depth_of_programs() const {
  if (mode_ == KernelEventsMode::kScheduling) return KernelDepth::kScheduling;
  if (mode_ == KernelEventsMode::kTraced) return KernelDepth::kEverything;
  return std::nullopt;
}

void KernelEvents::choose(const ProcessId& process, KernelDepth depth) {
  if (mode_ == KernelEventsMode::kOff || !process.known()) return;
  std::lock_guard lock(mutex_);
  of(depth).choose(process);
}

void KernelEvents::forget(const ProcessId& process, KernelDepth depth) {
  std::lock_guard lock(mutex_);
  of(depth).forget(process);
}

KernelRecorder* KernelEvents::recorder_of(const ProcessId& process, std::string& missing) {
  std::lock_guard lock(mutex_);
  missing = "the agent was not told to record them (--kernel-events scheduling, or traced)";
  if (KernelRecorder* with_system_calls = everything_.recorder_of(process, missing)) return with_system_calls;
  return scheduling_.recorder_of(process, missing);
}

std::optional<KernelSnapshot> KernelEvents::snapshot(const ProcessId& process, uint64_t begin_nano, uint64_t end_nano,
                                                     std::string& missing) {
  KernelRecorder* recorder = recorder_of(process, missing);
  if (recorder == nullptr) return std::nullopt;
  missing.clear();
  return recorder->snapshot({.begin_nano = begin_nano, .end_nano = end_nano, .processes = {process}});
}

}  // namespace fathom::agent

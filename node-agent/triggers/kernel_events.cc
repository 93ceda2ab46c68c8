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
  if (find(*chosen) == nullptr) recorder_->forget(*chosen);  // of the same number, and another one
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

KernelRecorder* KernelEvents::recorder_of(const ProcessId& process, KernelDepth depth, std::string& missing) {
  std::lock_guard lock(mutex_);
  missing = "the agent was not told to record them (--kernel-events scheduling, or traced)";
  FollowedProcesses& other =
      of(depth == KernelDepth::kEverything ? KernelDepth::kScheduling : KernelDepth::kEverything);
  KernelRecorder* meant = of(depth).recorder_of(process, missing);
  return meant != nullptr ? meant : other.recorder_of(process, missing);
}

std::optional<KernelSnapshot> KernelEvents::snapshot(const ProcessId& process, KernelDepth depth,
                                                     const SnapshotRequest& window, std::string& missing) {
  KernelRecorder* recorder = recorder_of(process, depth, missing);
  if (recorder == nullptr) return std::nullopt;
  missing.clear();
  SnapshotRequest request = window;
  request.processes = {process};
  return recorder->snapshot(request);
}

}  // namespace fathom::agent

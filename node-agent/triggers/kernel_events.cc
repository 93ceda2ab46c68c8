#include "node-agent/triggers/kernel_events.h"

#include <algorithm>

namespace fathom::agent {

KernelEvents::Chosen* KernelEvents::find(const ProcessId& process) {
  auto found = std::find_if(chosen_.begin(), chosen_.end(), [&](const Chosen& one) { return one.process == process; });
  return found == chosen_.end() ? nullptr : &*found;
}

// Why not; empty when it is.
std::string KernelEvents::follow(const ProcessId& process) {
  if (!recorder_ && failure_.empty()) {
    Result<std::unique_ptr<KernelRecorder>> made = KernelRecorder::create();
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

void KernelEvents::choose(const ProcessId& process) {
  if (mode_ == KernelEventsMode::kOff || !process.known()) return;
  std::lock_guard lock(mutex_);
  Chosen* known = find(process);
  if (known == nullptr) known = &chosen_.emplace_back(Chosen{process, 0, follow(process)});
  ++known->times;
}

void KernelEvents::forget(const ProcessId& process) {
  std::lock_guard lock(mutex_);
  Chosen* known = find(process);
  if (known == nullptr || --known->times > 0) return;
  if (known->failure.empty()) recorder_->forget(process);
  std::erase_if(chosen_, [&](const Chosen& one) { return one.process == process; });
}

std::optional<KernelSnapshot> KernelEvents::snapshot(const ProcessId& process, uint64_t begin_nano, uint64_t end_nano,
                                                     std::string& missing) {
  KernelRecorder* recorder = nullptr;
  {
    std::lock_guard lock(mutex_);
    const Chosen* known = find(process);
    if (known == nullptr)
      missing = "the agent was not told to record them (--kernel-events traced)";
    else if (!known->failure.empty())
      missing = known->failure;
    else
      recorder = recorder_.get();
  }
  if (recorder == nullptr) return std::nullopt;
  return recorder->snapshot({.begin_nano = begin_nano, .end_nano = end_nano, .processes = {process}});
}

}  // namespace fathom::agent

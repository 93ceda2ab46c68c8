#include "node-agent/sources/kernel_events.h"

#include <algorithm>

#include "node-agent/kernel/kernel_availability.h"
#include "node-agent/sources/kernel_collector.h"

namespace fathom::agent {

namespace {

void count(const KernelLosses& losses, CaptureBuilder& capture) {
  for (const auto& [reason, count] : kKernelLosses) capture.count_loss(kernel_loss_name(reason), losses.*count);
}

class KernelSlice : public Slice {
 public:
  explicit KernelSlice(KernelSnapshot snapshot) : snapshot_(std::move(snapshot)) {}

  bool was_recorded() const override { return true; }
  uint64_t held_bytes() const override { return 0; }  // taken when the capture is made: it waits for nothing
  void write(CaptureBuilder& capture) override { write_kernel_events(snapshot_, capture); }

 private:
  const KernelSnapshot snapshot_;
};

class NoKernelSlice : public Slice {
 public:
  explicit NoKernelSlice(std::string missing) : missing_(std::move(missing)) {}

  bool was_recorded() const override { return false; }
  uint64_t held_bytes() const override { return 0; }
  void write(CaptureBuilder& capture) override { capture.capture().kernel_missing = std::move(missing_); }

 private:
  std::string missing_;
};

}  // namespace

void write_kernel_events(const KernelSnapshot& snapshot, CaptureBuilder& capture) {
  capture.capture().kernel_complete_from_nano = std::max<uint64_t>(snapshot.complete_from_nano, 1);
  const uint64_t without_thread = collect_kernel_events(snapshot, capture.pid(), capture.threads());
  capture.count_loss("over_limit_threads_kernel_events", without_thread);
  count(snapshot.losses, capture);
  if (without_thread != 0 || snapshot.losses.left_out != 0) capture.set_truncated();
}

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
      made_ = (recorder_ = *std::move(made)).get();
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

std::optional<int> FollowedProcesses::exit_status(const ProcessId& process) const {
  const KernelRecorder* recorder = made_;
  return recorder == nullptr ? std::nullopt : recorder->exit_status(process);
}

std::vector<Availability> KernelEvents::availability() const {
  return kernel_availability();
}

std::optional<KernelDepth> KernelEvents::depth_of(FollowReason reason) const {
  if (mode_ == KernelEventsMode::kOff) return std::nullopt;
  if (reason == FollowReason::kRequest || mode_ == KernelEventsMode::kTraced) return KernelDepth::kEverything;
  if (mode_ == KernelEventsMode::kScheduling) return KernelDepth::kScheduling;
  return std::nullopt;
}

void KernelEvents::follow(const ProcessId& process, FollowReason reason) {
  const std::optional<KernelDepth> depth = depth_of(reason);
  if (!depth || !process.known()) return;
  std::lock_guard lock(mutex_);
  of(*depth).choose(process);
}

void KernelEvents::forget(const ProcessId& process, FollowReason reason) {
  const std::optional<KernelDepth> depth = depth_of(reason);
  if (!depth) return;
  std::lock_guard lock(mutex_);
  of(*depth).forget(process);
}

KernelRecorder* KernelEvents::recorder_of(const ProcessId& process, KernelDepth depth, std::string& missing) {
  std::lock_guard lock(mutex_);
  missing = "the agent was not told to record them (--kernel-events scheduling, or traced)";
  FollowedProcesses& other =
      of(depth == KernelDepth::kEverything ? KernelDepth::kScheduling : KernelDepth::kEverything);
  KernelRecorder* meant = of(depth).recorder_of(process, missing);
  return meant != nullptr ? meant : other.recorder_of(process, missing);
}

std::unique_ptr<Slice> KernelEvents::slice(const SliceRequest& request) {
  const ProcessId& process = request.program.process;
  std::string missing;
  // Of a request, nothing is in the recorder that had begun before the request began to wait.
  KernelRecorder* recorder = recorder_of(process, depth_of(request.reason).value_or(KernelDepth::kEverything), missing);
  if (recorder == nullptr) return std::make_unique<NoKernelSlice>(std::move(missing));
  return std::make_unique<KernelSlice>(
      recorder->snapshot({.begin_nano = request.begin_nano, .end_nano = request.end_nano, .processes = {process}}));
}

std::optional<int> KernelEvents::exit_status(const ProcessId& process) const {
  const std::optional<int> status = scheduling_.exit_status(process);
  return status ? status : everything_.exit_status(process);
}

}  // namespace fathom::agent

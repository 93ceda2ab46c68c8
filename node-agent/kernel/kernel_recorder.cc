#include "node-agent/kernel/kernel_recorder.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/metrics.h"
#include "base/time.h"
#include "node-agent/kernel/kernel_availability.h"
#include "node-agent/kernel/snapshot_builder.h"
#include "node-agent/kernel/thread_names.h"
#include "node-agent/kernel/thread_slots.h"

namespace fathom::agent {

namespace {

constexpr uint64_t kMostRingBytes = uint64_t{256} << 20;  // the verifier's bound of an offset is twice that

Counter& lost(const char* reason) {
  return counter("fathom_agent_lost_kernel_events_total", "Events of the kernel that snapshots should have had.",
                 label("reason", reason));
}

void tell(const KernelLosses& losses) {
  for (const auto& [reason, count] : kKernelLosses) lost(reason).add(losses.*count);
}

Error unsupported(const KernelObstacle& obstacle) {
  return {ErrorCode::kUnsupported, obstacle.why_not + "; " + obstacle.cure};
}

Error gone(pid_t pid) {
  return not_found("there is no process " + std::to_string(pid));
}

}  // namespace

uint64_t ring_bytes_of(const KernelRecorderOptions& options, size_t processors) {
  const uint64_t share = options.most_ring_bytes / std::max<size_t>(processors, 1);
  const uint64_t wanted = std::min({options.ring_bytes_per_cpu, share, kMostRingBytes});
  return std::max(std::bit_floor(wanted), kernel::kLeastRingBytes);
}

Result<std::unique_ptr<KernelRecorder>> KernelRecorder::create(const KernelRecorderOptions& options) {
  if (std::optional<KernelObstacle> obstacle = judge_kernel(read_kernel_facts())) return unsupported(*obstacle);
  auto programs = kernel::BpfPrograms::load(ring_bytes_of(options, kernel::processor_count()), options.system_calls);
  if (!programs) return unsupported(refused_programs(programs.error()));
  tell({});  // so that each series is there before anything is lost
  return std::unique_ptr<KernelRecorder>(new KernelRecorder(*std::move(programs)));
}

Result<ProcessId> KernelRecorder::choose(pid_t pid) {
  const ProcessId process = identify_process(pid);
  if (!process.known() || kernel::is_thread_id(pid)) return gone(pid);
  std::lock_guard lock(mutex_);
  if (const kernel::Choice* choice = choices_.current(pid)) {
    if (choice->process == process) return process;
    end(ProcessId(choice->process));  // its number is used again
  }
  if (choices_.full()) drop_ended();
  if (choices_.full()) return exhausted("so many processes are chosen already: " + std::to_string(choices_.count()));
  return begin(process);
}

// The programs that see its end are attached before its bit is set; and what ended just before is found by the look
// after. Either of them takes the bit away.
Result<ProcessId> KernelRecorder::begin(const ProcessId& process) {
  if (choices_.count() == 0) {
    if (Result<> attached = programs_->attach(); !attached) return attached.error();
  }
  kernel::free_slots(programs_->slots(), process.pid);
  choices_.begin(process, now_monotonic_nano());
  programs_->set_chosen(process.pid, true);
  if (life_of(process) != Life::kGone) return process;
  end(process);
  return gone(process.pid);
}

void KernelRecorder::end(const ProcessId& process) {
  programs_->set_chosen(process.pid, false);
  kernel::free_slots(programs_->slots(), process.pid);
  choices_.end(process.pid, now_monotonic_nano());
  if (choices_.count() == 0) programs_->detach();
}

void KernelRecorder::forget(const ProcessId& process) {
  std::lock_guard lock(mutex_);
  const kernel::Choice* choice = choices_.current(process.pid);
  if (choice != nullptr && choice->process == process) end(process);
}

// Those whose bit a program took away with their last thread.
void KernelRecorder::drop_cleared() {
  for (const ProcessId& process : choices_.processes()) {
    if (!programs_->is_chosen(process.pid)) end(process);
  }
}

// Also one that had ended before its bit was set, but was not gone when we looked.
void KernelRecorder::drop_ended() {
  for (const ProcessId& process : choices_.processes()) {
    if (life_of(process) == Life::kGone) end(process);
  }
}

std::vector<ProcessId> KernelRecorder::chosen() {
  std::lock_guard lock(mutex_);
  drop_ended();
  return choices_.processes();
}

void KernelRecorder::count_losses(KernelLosses& losses) {
  uint64_t no_slot = 0;
  for (size_t i = 0; i < programs_->ring_count(); ++i)
    no_slot += __atomic_load_n(&programs_->ring(i).header->no_slot, __ATOMIC_RELAXED);
  const uint64_t missed = programs_->missed();
  std::lock_guard lock(mutex_);
  losses.no_slot = no_slot - std::min(no_slot, std::exchange(no_slot_told_, std::max(no_slot, no_slot_told_)));
  losses.missed += missed - std::min(missed, std::exchange(missed_told_, std::max(missed, missed_told_)));
}

std::vector<std::pair<std::string, uint64_t>> kernel_losses() {
  std::vector<std::pair<std::string, uint64_t>> losses;
  for (const auto& [reason, count] : kKernelLosses) {
    if (const uint64_t many = lost(reason).value(); many != 0) losses.emplace_back(kernel_loss_name(reason), many);
  }
  return losses;
}

KernelSnapshot KernelRecorder::snapshot(const SnapshotRequest& request) {
  std::unique_lock lock(mutex_);
  drop_cleared();
  kernel::SnapshotBuilder builder(request, choices_.filter(request.processes), now_monotonic_nano());
  lock.unlock();
  for (size_t i = 0; i < programs_->ring_count(); ++i) builder.read(programs_->ring(i));
  kernel::read_slots(programs_->slots(), now_monotonic_nano(), [&](const KernelEvent& event) { builder.add(event); });
  KernelSnapshot snapshot = builder.finish();
  count_losses(snapshot.losses);
  tell(snapshot.losses);
  return snapshot;
}

}  // namespace fathom::agent

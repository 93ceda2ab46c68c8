#include "node-agent/snapshots/pt_flow_recorder.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/log.h"
#include "snapshot/record/pt/doctor.h"
#include "snapshot/record/pt/proc_files.h"
#include "snapshot/record/pt/process_owners.h"
#include "snapshot/record/pt/system_files.h"

namespace fathom::agent {

namespace {

using snapshot::PerfSystem;
using snapshot::SymbolTrigger;

constexpr std::string_view kSymbolReason = "symbol";
constexpr size_t kCpuOfStat = 36;  // /proc/PID/task/TID/stat

// The first thing that is wrong: the host, or what it refuses.
Result<> host_can(const PerfSystem& system) {
  std::string cure;
  const std::string why = system.is_stand_in() ? "" : snapshot::why_no_pt(system, cure);
  if (why.empty()) return {};
  return {Error{ErrorCode::kUnsupported, why + "; " + cure}};
}

bool has_ended(const SymbolTrigger& watch) {
  std::vector<pollfd> events = watch.poll_events();
  ::poll(events.data(), events.size(), 0);
  return std::ranges::any_of(events,
                             [](const pollfd& event) { return (event.revents & (POLLHUP | POLLERR | POLLNVAL)) != 0; });
}

}  // namespace

Result<std::unique_ptr<PtFlowRecorder>> PtFlowRecorder::arm(PerfSystem& system,
                                                            const snapshot::SnapshotDirectory& directory,
                                                            const PtFlowOptions& options) {
  if (auto can = host_can(system); !can) return can.error();
  PtFlowOptions offered = options;
  offered.pt.ptwrite = has_ptwrite(system);
  offered.pt.one_user = !options.all_users;
  offered.pt.images = options.private_images ? snapshot::ImageRule::kAll : snapshot::ImageRule::kReachable;
  std::unique_ptr<PtFlowRecorder> made(new PtFlowRecorder(system, offered));
  if (!options.symbol.empty()) {
    auto symbol = snapshot::find_symbol(options.symbol);
    if (!symbol) return symbol.error();
    made->symbol_ = *std::move(symbol);
  }
  auto recorder = snapshot::PtRecorder::arm(system, directory, offered.pt);
  if (!recorder) return recorder.error();
  made->recorder_ = *std::move(recorder);
  return made;
}

// ---- the listener ---------------------------------------------------------------------------------------------------

// Looking costs 20 us, and the ring that matters stands still first; of what there is no room for, it is the last.
void PtFlowRecorder::stop(const SnapshotAsk& ask) {
  recorder_->stop(thread_of(ask).cpu);
}

// A program in a namespace has numbers of its own: then there is no such thread, as a rule.
PtFlowRecorder::Thread PtFlowRecorder::thread_of(const SnapshotAsk& ask) const {
  if (ask.pid <= 0 || ask.tid <= 0) return {};
  const std::string task = "/proc/" + std::to_string(ask.pid) + "/task/" + std::to_string(ask.tid) + "/stat";
  const auto stat = snapshot::read_small_file(system_.path(task), 1024);
  if (!stat) return {};
  return {true, static_cast<int32_t>(snapshot::number_of_stat(*stat, kCpuOfStat).value_or(-1))};
}

std::vector<pollfd> PtFlowRecorder::events() {
  {
    std::lock_guard lock(mutex_);
    std::move(new_.begin(), new_.end(), std::back_inserter(watched_));
    new_.clear();
  }
  std::vector<pollfd> events;
  for (const SymbolTrigger& watch : watched_) std::ranges::copy(watch.poll_events(), std::back_inserter(events));
  return events;
}

std::optional<SnapshotAsk> PtFlowRecorder::reached() {
  drop_ended();
  for (SymbolTrigger& watch : watched_) {
    const auto fired = watch.fired();
    if (!fired) continue;
    SnapshotAsk ask{.reason = kSymbolReason, .trace_id = {}, .span_id = {}};
    ask.pid = fired->pid;
    ask.tid = fired->tid;
    return ask;
  }
  return std::nullopt;
}

// What has ended would be readable for ever, and the listener lets nobody else run.
void PtFlowRecorder::drop_ended() {
  const size_t before = watched_.size();
  std::erase_if(watched_, has_ended);
  std::lock_guard lock(mutex_);
  watches_ -= before - watched_.size();
}

void PtFlowRecorder::listen_again() {
  for (SymbolTrigger& watch : watched_) (void)watch.rearm();  // of a program that is over, it cannot
}

// ---- the keeper -----------------------------------------------------------------------------------------------------

void PtFlowRecorder::drain() {
  (void)recorder_->drain();  // what is damaged there is counted there, and said by the snapshot that it touches
}

// By now and the rate alone: perf's clock is not quite CLOCK_MONOTONIC.
uint64_t PtFlowRecorder::tsc_at(uint64_t monotonic_nano) const {
  const uint64_t now_tsc = system_.tsc();
  const uint64_t now_nano = system_.monotonic_nano();
  const uint64_t ago_nano = now_nano - std::min(now_nano, monotonic_nano);
  const snapshot::Timing& timing = recorder_->timing();
  const uint64_t ago_ticks =
      timing.conversion_mult == 0 ? ago_nano : snapshot::tsc_of_time(timing, timing.conversion_zero_nano + ago_nano);
  return now_tsc - std::min(now_tsc, ago_ticks);
}

std::optional<uint32_t> PtFlowRecorder::user_of(const SnapshotAsk& ask) const {
  if (ask.pid <= 0) return std::nullopt;
  const auto owner = snapshot::read_owner(system_, ask.pid, false);
  if (!owner) return ask.uid;  // it has ended
  // After a change of user, neither user's programs may be shown together with the other's.
  const bool is_known = owner->kind == snapshot::ProcessOwner::Kind::kUser && (!ask.uid || *ask.uid == owner->uid);
  return is_known ? std::optional(owner->uid) : std::nullopt;
}

Result<CutSnapshot> PtFlowRecorder::take(const SnapshotAsk& ask) {
  const uint64_t at_nano = ask.at_nano != 0 ? ask.at_nano : system_.monotonic_nano();
  const uint64_t begin_nano = std::max(at_nano - std::min(at_nano, options_.window_nano), ask.begin_nano);
  const Thread thread = thread_of(ask);
  const auto uid = options_.all_users ? std::nullopt : user_of(ask);
  if (!uid && !options_.all_users)
    return unavailable("the user of the process that triggered it is not known any more");
  const auto taken = recorder_->take({.begin_tsc = tsc_at(begin_nano), .cpu = thread.cpu, .uid = uid},
                                     {.reason = std::string(ask.reason),
                                      .tsc = tsc_at(at_nano),
                                      .tid = thread.exists ? ask.tid : -1,
                                      .trace_id = ask.trace_id,
                                      .span_id = ask.span_id});
  if (!taken) return taken.error();
  const snapshot::SnapshotCost& cost = taken->cost;
  return CutSnapshot{taken->id, cost.packet_bytes, cost.left_out_bytes,
                     cost.stop_nano + cost.copy_nano + cost.resume_nano};
}

bool PtFlowRecorder::program_runs(int32_t pid) {
  if (!symbol_) return false;
  bool adds = false;
  for (const uint64_t address : snapshot::addresses_in(pid, *symbol_)) {
    {
      std::lock_guard lock(mutex_);
      if (watches_ >= kMostWatched) return adds;
    }
    auto watch = SymbolTrigger::arm(system_, *recorder_, {pid}, address);
    if (!watch) {
      log_warning(symbol_->name + " is not waited for in process " + std::to_string(pid) + ": " +
                  watch.error().message);
      return adds;
    }
    std::lock_guard lock(mutex_);
    new_.push_back(*std::move(watch));
    ++watches_;
    adds = true;
  }
  return adds;
}

}  // namespace fathom::agent

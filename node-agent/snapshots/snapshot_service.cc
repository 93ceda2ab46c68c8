#include "node-agent/snapshots/snapshot_service.h"

#include <sys/eventfd.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "base/log.h"
#include "base/time.h"
#include "node-agent/snapshots/snapshot_metrics.h"
#include "snapshot/record/pt/trigger_thread.h"

namespace fathom::agent {

namespace {

constexpr size_t kMostNewPrograms = 1024;
constexpr uint32_t kMostSlots = 4096;  // of a program's threads, as the watch has it

Fd make_bell() {
  Fd bell(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!bell.open()) std::abort();  // the process has no descriptor left at its start
  return bell;
}

void wake(const Fd& bell) {
  const uint64_t one = 1;
  (void)!::write(bell.get(), &one, sizeof one);
}

void hush(const Fd& bell) {
  uint64_t rings = 0;
  (void)!::read(bell.get(), &rings, sizeof rings);
}

// Waits for the bell or one of the others.
void wait_for(const Fd& bell, std::vector<pollfd> others, int millis) {
  others.push_back({bell.get(), POLLIN, 0});
  ::poll(others.data(), others.size(), millis);
  hush(bell);
}

bool is_of_a_person(const SnapshotAsk& ask) {
  return ask.reason == name_of(CaptureTrigger::kRequested);
}

}  // namespace

SnapshotService::SnapshotService(SnapshotServiceOptions options, std::unique_ptr<FlowRecorder> recorder)
    : options_(std::move(options)),
      recorder_(std::move(recorder)),
      bell_(make_bell()),
      for_keeper_(make_bell()),
      bucket_(options_.rate.per_second, options_.rate.burst),
      listener_([this] { listen(); }),
      keeper_([this] { keep(); }) {}

// The listener first: what it stopped last, the keeper still takes.
SnapshotService::~SnapshotService() {
  {
    std::lock_guard lock(mutex_);
    stops_ = true;
  }
  wake(bell_);
  listener_.join();
  {
    std::lock_guard lock(mutex_);
    listener_is_over_ = true;
  }
  wake(for_keeper_);
  keeper_.join();
}

// With mutex_ held.
bool SnapshotService::admit(const SnapshotAsk& ask) {
  const bool waits = phase_ != Phase::kRecording && is_of_a_person(ask) && !waiting_;
  if (waits) return waiting_ = ask, false;
  const bool is_busy = phase_ != Phase::kRecording || stops_;
  if (is_busy) return count_skipped_snapshot(ask.reason, SnapshotSkip::kBusy), false;
  if (!is_of_a_person(ask) && !bucket_.take(now_monotonic_nano())) {
    return count_skipped_snapshot(ask.reason, SnapshotSkip::kRate), false;
  }
  begin(ask);
  return true;
}

// With mutex_ held.
void SnapshotService::begin(const SnapshotAsk& ask) {
  ask_ = ask;
  rung_nano_ = now_monotonic_nano();
  if (ask_.at_nano == 0) ask_.at_nano = rung_nano_;
  phase_ = Phase::kRung;
}

void SnapshotService::ring(const SnapshotAsk& ask) {
  {
    std::lock_guard lock(mutex_);
    if (!admit(ask)) return;
  }
  wake(bell_);
}

void SnapshotService::program_runs(std::shared_ptr<const WatchedProgram> program) {
  {
    std::lock_guard lock(mutex_);
    const int32_t pid = program->process.pid;
    auto& known = programs_[program->serial];
    const bool is_new = known == nullptr || known->process.pid != pid;
    known = std::move(program);
    if (!is_new || new_programs_.size() >= kMostNewPrograms) return;
    new_programs_.push_back(pid);
  }
  wake(for_keeper_);
}

void SnapshotService::program_ended(const WatchedProgram& program) {
  std::lock_guard lock(mutex_);
  programs_.erase(program.serial);
}

// ---- the listener ---------------------------------------------------------------------------------------------------

void SnapshotService::listen() {
  snapshot::interrupt_others();
  while (wait_for_bell()) {
    stop_rings();
    look_for_symbol();
  }
}

bool SnapshotService::wait_for_bell() {
  wait_for(bell_, recorder_->events(), listen_millis());
  bool listens_again = false;
  bool goes_on = false;
  {
    std::lock_guard lock(mutex_);
    if (listen_again_nano_ != 0 && listen_again_nano_ <= now_monotonic_nano()) {
      listen_again_nano_ = 0;
      wants_symbols_ = true;
    }
    // Else when the snapshot that is being cut is done.
    if (phase_ == Phase::kRecording) listens_again = std::exchange(wants_symbols_, false);
    goes_on = !stops_;
  }
  if (listens_again) recorder_->listen_again();
  return goes_on;
}

int SnapshotService::listen_millis() const {
  if (listen_again_nano_ == 0) return -1;
  const uint64_t now_nano = now_monotonic_nano();
  return listen_again_nano_ <= now_nano ? 0 : static_cast<int>((listen_again_nano_ - now_nano) / kNanosPerMilli) + 1;
}

void SnapshotService::stop_rings() {
  SnapshotAsk ask;
  {
    std::lock_guard lock(mutex_);
    if (phase_ != Phase::kRung) return;
    ask = ask_;
  }
  recorder_->stop(ask);
  {
    std::lock_guard lock(mutex_);
    observe_stopped(now_monotonic_nano() - rung_nano_);
    phase_ = Phase::kStopped;
  }
  wake(for_keeper_);
}

void SnapshotService::look_for_symbol() {
  std::optional<SnapshotAsk> ask = recorder_->reached();
  if (!ask) return;
  bool admitted = false;
  {
    std::lock_guard lock(mutex_);
    admitted = admit(*ask);
  }
  if (admitted) return stop_rings();
  listen_again_nano_ = now_monotonic_nano() + options_.symbol_pause_nano;
}

// ---- the keeper -----------------------------------------------------------------------------------------------------

void SnapshotService::keep() {
  while (true) {
    wait_for(for_keeper_, recorder_->drain_events(), static_cast<int>(options_.drain_nano / kNanosPerMilli));
    bool is_stopped = false;
    bool ends = false;
    {
      std::lock_guard lock(mutex_);
      ends = listener_is_over_;
      // What was rung for, and nobody stops any more, is stopped by take().
      is_stopped = phase_ == Phase::kStopped || (ends && phase_ == Phase::kRung);
    }
    if (is_stopped)
      take();
    else
      recorder_->drain();
    if (ends) return;
    look_at_programs();
  }
}

void SnapshotService::look_at_programs() {
  std::vector<int32_t> programs;
  {
    std::lock_guard lock(mutex_);
    programs.swap(new_programs_);
  }
  const auto adds = [this](int32_t pid) { return recorder_->program_runs(pid); };
  if (std::ranges::count_if(programs, adds) != 0) wake(bell_);
}

void SnapshotService::take() {
  SnapshotAsk ask;
  {
    std::lock_guard lock(mutex_);
    ask = ask_;
  }
  if (ask.span_id.is_zero()) name_span(ask);
  if (recorder_->knows_user(ask)) {
    tell(ask, recorder_->take(ask));
  } else {
    recorder_->resume();
    count_skipped_snapshot(ask.reason, SnapshotSkip::kUnknownUser);
  }
  {
    std::lock_guard lock(mutex_);
    phase_ = Phase::kRecording;
    wants_symbols_ = true;
    std::optional<SnapshotAsk> next = std::exchange(waiting_, std::nullopt);
    if (next && stops_) count_skipped_snapshot(next->reason, SnapshotSkip::kBusy);
    if (next && !stops_) begin(*next);
  }
  wake(bell_);
}

// A processor that reached a function knows of no spans: the innermost that its thread has open now.
void SnapshotService::name_span(SnapshotAsk& ask) {
  std::shared_ptr<const WatchedProgram> program;
  {
    std::lock_guard lock(mutex_);
    auto found = std::ranges::find_if(programs_, [&](const auto& one) { return one.second->process.pid == ask.pid; });
    if (found != programs_.end()) program = found->second;
  }
  if (program == nullptr || program->open == nullptr || ask.tid <= 0) return;
  for (const ThreadSpan& open : program->open->all_open(kMostSlots)) {
    if (static_cast<int32_t>(open.tid) != ask.tid) continue;
    ask.trace_id = open.span.trace_id;
    ask.span_id = open.span.span_id;
  }
}

void SnapshotService::tell(const SnapshotAsk& ask, const Result<CutSnapshot>& taken) {
  if (!taken) {
    count_skipped_snapshot(ask.reason, SnapshotSkip::kFailed);
    return log_warning("no snapshot could be cut: " + taken.error().message);
  }
  count_cut(ask.reason, taken->packet_bytes);
  left_out_snapshot_bytes().add(taken->left_out_bytes);
  observe_unrecorded(taken->unrecorded_nano);
  const std::string trace = ask.trace_id.is_zero() ? "" : " trace=" + ask.trace_id.hex();
  log_info("snapshot " + taken->id.hex() + " was cut reason=" + std::string(ask.reason) + trace +
           " packet_bytes=" + std::to_string(taken->packet_bytes));
  if (options_.cut) options_.cut(*taken);
}

void DeafBell::ring(const SnapshotAsk& ask) {
  count_skipped_snapshot(ask.reason, SnapshotSkip::kUnavailable);
}

}  // namespace fathom::agent

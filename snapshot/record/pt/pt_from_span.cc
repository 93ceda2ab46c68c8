#include "snapshot/record/pt/pt_from_span.h"

#include <algorithm>
#include <set>

#include "base/time.h"
#include "snapshot/record/pt/proc_files.h"

namespace fathom::snapshot {
namespace {

constexpr uint64_t kFollowNano = 50'000'000;
constexpr size_t kMostProcesses = 1024;

}  // namespace

Result<> PtFromSpan::begin(PerfSystem& system, const PtRecorder& recorder, pid_t pid) {
  system_ = &system;
  timing_ = recorder.timing();
  command_ = pid;
  return {};
}

// What the command starts is recorded, too.
void PtFromSpan::follow_processes() {
  const uint64_t now = now_monotonic_nano();
  if (now - followed_nano_ < kFollowNano) return;
  followed_nano_ = now;
  const std::vector<int32_t> pids = with_descendants(*system_, command_, kMostProcesses);
  const std::set<pid_t> alive(pids.begin(), pids.end());
  std::erase_if(views_, [&](const auto& view) { return !alive.contains(view.first); });
  for (const pid_t pid : alive) views_.try_emplace(pid, pid);
}

bool PtFromSpan::was_taken(pid_t pid, const step::OpenSpanPlace& place) const {
  return std::ranges::any_of(taken_, [&](const Seen& one) {
    return one.pid == pid && one.place.start_address == place.start_address &&
           one.place.start_ticks == place.start_ticks;
  });
}

void PtFromSpan::look() {
  follow_processes();
  std::erase_if(taken_, [&](const Seen& one) {
    const auto view = views_.find(one.pid);
    return view == views_.end() || !view->second.is_open(one.place);
  });
  for (auto& [pid, view] : views_) {
    for (const step::OpenSpanPlace& place : view.open_spans(operation_)) {
      const uint64_t age_nano = view.age_nano(place, clock_);
      if (age_nano < least_nano_ || was_taken(pid, place)) continue;
      seen_ = {pid, place, system_->tsc() - ticks_of_nano(timing_, age_nano)};
      return;
    }
  }
}

PtCut PtFromSpan::cut(const char* reason) {
  PtCut cut;
  cut.window.begin_tsc = seen_->begin_tsc;
  cut.trigger = {reason, system_->tsc(), seen_->place.tid, seen_->place.trace_id, seen_->place.span_id};
  taken_.push_back(*seen_);
  seen_.reset();
  return cut;
}

std::optional<PtCut> PtFromSpan::due(bool ends) {
  if (!seen_) look();
  if (!seen_) return std::nullopt;
  if (least_nano_ != 0) return cut("overdue");
  const auto view = views_.find(seen_->pid);
  const bool open = view != views_.end() && view->second.is_open(seen_->place);
  if (open && !ends) return std::nullopt;
  return cut("requested");
}

}  // namespace fathom::snapshot

#include "node-agent/triggers/watch_round.h"

#include <algorithm>
#include <bit>

#include "base/time.h"

namespace fathom::agent {

namespace {

constexpr uint64_t kClockUpdateNano = 50'000'000;
constexpr uint64_t kFirstClockUpdateNano = 1'000'000;
constexpr uint64_t kIdleNano = 1'000'000'000;
// Between visits of a program that has called fathom::trigger(): it waits for its capture.
constexpr uint64_t kTriggersNano = 4'000'000;
constexpr uint64_t kTriggerPatienceNano = 100'000'000;
const CpuShare kShareOfUser(4, 2'000'000);

uint64_t interval_of(uint64_t smallest_threshold_nano, const WatchPace& pace) {
  const uint64_t wanted_nano = std::clamp(smallest_threshold_nano, pace.shortest_nano, pace.longest_nano);
  return std::bit_floor(wanted_nano / kNanosPerMilli) * kNanosPerMilli;
}

}  // namespace

void WatchRound::set(std::shared_ptr<const WatchedProgram> program) {
  users_.try_emplace(program->uid, kShareOfUser);
  Watched& watched = programs_[program->serial];
  watched.program = program;
  watched.scan.set(std::move(program), thresholds_);
  watched.due_nano = 0;
}

void WatchRound::look_last(std::shared_ptr<const WatchedProgram> program) {
  users_.try_emplace(program->uid, kShareOfUser);
  Watched& watched = programs_[program->serial];
  if (!watched.program) watched.program = program;
  watched.last = std::move(program);
  uint64_t now_nano = now_();
  update_clock(now_nano);
  if (clock_.ready()) look_at_ended(watched, now_nano);
}

// Before the clock is ready, what is old looks young (drop_old()).
void WatchRound::look_at_ended(Watched& watched, uint64_t now_nano) {
  std::shared_ptr<const WatchedProgram> is_now = std::exchange(watched.program, std::exchange(watched.last, nullptr));
  look_for_triggers(watched, now_nano, true);
  watched.program = std::move(is_now);
}

void WatchRound::look_at_all_that_ended(uint64_t now_nano) {
  std::vector<uint32_t> removed;
  for (auto& [serial, watched] : programs_) {
    if (watched.last) look_at_ended(watched, now_nano);
    if (watched.removed) removed.push_back(serial);
  }
  for (uint32_t serial : removed) remove(serial);
}

void WatchRound::remove(uint32_t serial) {
  auto found = programs_.find(serial);
  if (found != programs_.end() && found->second.last) {
    found->second.removed = true;
    return;
  }
  programs_.erase(serial);
  std::erase_if(users_, [&](const auto& user) {
    return std::none_of(programs_.begin(), programs_.end(),
                        [&](const auto& watched) { return watched.second.program->uid == user.first; });
  });
}

void WatchRound::set_thresholds(std::shared_ptr<const Thresholds> thresholds) {
  thresholds_ = std::move(thresholds);
  for (auto& [serial, watched] : programs_) {
    watched.scan.set(watched.program, thresholds_);
    watched.due_nano = 0;
  }
}

// The counter's rate is measured over a millisecond at least.
void WatchRound::update_clock(uint64_t now_nano) {
  uint64_t every_nano = clock_.ready() ? kClockUpdateNano : kFirstClockUpdateNano;
  if (now_nano - clock_updated_nano_ < every_nano) return;
  clock_updated_nano_ = now_nano;
  clock_.update();
}

uint64_t WatchRound::step() {
  uint64_t now_nano = now_();
  if (programs_.empty()) return now_nano + kIdleNano;
  update_clock(now_nano);
  if (!clock_.ready()) return now_nano + kFirstClockUpdateNano;
  look_at_all_that_ended(now_nano);
  uint64_t next_nano = now_nano + kIdleNano;
  for (auto& [serial, watched] : programs_) {
    if (watched.due_nano <= now_nano && may_visit(watched, now_nano)) {
      visit(watched, now_nano);
      now_nano = now_();
    }
    next_nano = std::min(next_nano, watched.due_nano);
  }
  return next_nano;
}

bool WatchRound::may_visit(Watched& watched, uint64_t now_nano) {
  CpuShare& of_user = users_.at(watched.program->uid);
  if (watched.share.may_spend(now_nano) && of_user.may_spend(now_nano)) return true;
  watched.due_nano = std::max(watched.share.again_nano(now_nano), of_user.again_nano(now_nano)) + kLeastGapNano;
  return false;
}

void WatchRound::visit(Watched& watched, uint64_t now_nano) {
  if (!watched.program->open) {
    watched.due_nano = now_nano + kIdleNano;
    return;
  }
  std::vector<OverdueSpan> overdue;
  if (watched.scan.smallest_threshold_nano() != kNever) watched.scan.visit(now_nano, clock_, overdue);
  spend_since(watched, now_nano);
  uint64_t scanned_nano = now_();
  bool worth_it = !overdue.empty() && sink_.overdue(watched.program, std::move(overdue));
  worth_it = look_for_triggers(watched, now_nano) || worth_it;
  watched.due_nano = next_visit(watched, now_nano);
  if (!worth_it) spend_since(watched, scanned_nano);
}

void WatchRound::spend_since(Watched& watched, uint64_t begin_nano) {
  uint64_t done_nano = now_();
  watched.share.spend(done_nano, done_nano - begin_nano);
  users_.at(watched.program->uid).spend(done_nano, done_nano - begin_nano);
}

uint64_t WatchRound::next_visit(const Watched& watched, uint64_t now_nano) const {
  uint64_t every_nano = interval_of(watched.scan.smallest_threshold_nano(), pace_);
  if (watched.ticket > 0) every_nano = std::min(every_nano, kTriggersNano);  // whatever the pace
  uint64_t regular_nano = (now_nano / every_nano + 1) * every_nano;
  return std::max(std::min(regular_nano, watched.scan.next_deadline_nano()), now_nano + kLeastGapNano);
}

bool WatchRound::look_for_triggers(Watched& watched, uint64_t now_nano, bool give_up) {
  if (watched.knows_triggers && watched.program->open->next_ticket() == watched.ticket) return false;
  give_up = give_up || (watched.waits_since_nano != 0 && now_nano - watched.waits_since_nano > kTriggerPatienceNano);
  OpenArea::Triggers found = watched.program->open->new_triggers(watched.ticket, give_up);
  if (!found.waits) watched.waits_since_nano = 0;
  if (found.waits && watched.waits_since_nano == 0) watched.waits_since_nano = now_nano;
  if (!std::exchange(watched.knows_triggers, true)) {
    drop_old(watched, found.triggers, now_nano);
    found.lost = 0;
  }
  if (found.lost != 0) sink_.missed(found.lost);
  return !found.triggers.empty() && sink_.asked(watched.program, std::move(found.triggers));
}

// They were for our predecessor.
void WatchRound::drop_old(const Watched& watched, std::vector<ProgramTrigger>& triggers, uint64_t now_nano) {
  std::erase_if(triggers, [&](const ProgramTrigger& trigger) {
    return clock_.monotonic_nano(watched.program->clock, trigger.ticks) + kOldTriggerNano < now_nano;
  });
}

}  // namespace fathom::agent

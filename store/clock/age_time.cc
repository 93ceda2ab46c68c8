#include "store/clock/age_time.h"

#include <algorithm>

namespace fathom::store {

namespace {

constexpr int64_t kJitterNano = kNanosPerSecond;  // below this an offset counts as unchanged

uint64_t distance(int64_t a, int64_t b) {
  return static_cast<uint64_t>(a < b ? b - a : a - b);
}

bool is_near(int64_t a, int64_t b) {
  return distance(a, b) <= kClockStepNano;
}

// The shortest of several times off is kept.
void note_off(ClockDoubt& doubt, int64_t off) {
  if (off <= 0) return;
  const auto nano = static_cast<uint64_t>(off);
  doubt.off_nano = doubt.off_nano == 0 ? nano : std::min(doubt.off_nano, nano);
}

bool is_same_boot(const AgeState& saved, const ClockReading& reading) {
  return !reading.boot_id.empty() && saved.boot_id == reading.boot_id && saved.boottime_nano <= reading.boottime_nano;
}

}  // namespace

AgeTime AgeTime::start(const std::optional<AgeState>& saved, const AgeWitness& witness, const ClockReading& reading) {
  AgeTime time(saved.value_or(AgeState{}));
  if (!saved) {
    time.begin(witness, reading);
  } else if (is_same_boot(*saved, reading)) {
    time.advance(reading, witness.newest_nano);
  } else {
    time.state_.age_nano = std::max(saved->age_nano, std::min(witness.newest_nano, kMostAgeNano - 1));
    time.cross_boots(time.offset_of(reading));
  }
  time.state_.boot_id = reading.boot_id;
  time.state_.boottime_nano = reading.boottime_nano;
  return time;
}

void AgeTime::begin(const AgeWitness& witness, const ClockReading& reading) {
  const bool is_new = witness.newest_nano == 0;
  state_.age_nano = std::min(is_new ? reading.wall_unix_nano : witness.newest_nano, kMostAgeNano - 1);
  const bool is_known = witness.is_unix && !is_new;
  if (is_known && is_plausible(0)) state_.trusted_nano = 0;
  cross_boots(offset_of(reading));
}

uint64_t AgeTime::at(uint64_t boottime_nano) const {
  return state_.age_nano + (boottime_nano - std::min(boottime_nano, state_.boottime_nano));
}

void AgeTime::observe(const ClockReading& reading) {
  advance(reading, 0);
}

void AgeTime::advance(const ClockReading& reading, uint64_t at_least_nano) {
  const uint64_t before = state_.age_nano;
  state_.age_nano = std::min(std::max(at(reading.boottime_nano), at_least_nano), kMostAgeNano - 1);
  state_.boottime_nano = std::max(state_.boottime_nano, reading.boottime_nano);
  judge(offset_of(reading), state_.age_nano - before);
}

int64_t AgeTime::offset_of(const ClockReading& reading) const {
  const uint64_t wall = std::min(reading.wall_unix_nano, kMostAgeNano - 1);
  return static_cast<int64_t>(wall) - static_cast<int64_t>(state_.age_nano);
}

bool AgeTime::is_plausible(int64_t offset) const {
  return static_cast<int64_t>(state_.age_nano) + offset >= static_cast<int64_t>(kEarliestWallNano);
}

void AgeTime::cross_boots(int64_t offset) {
  std::optional<ClockDoubt>& doubt = state_.doubt;
  if (!state_.trusted_nano) {
    doubt.reset();
    if (is_plausible(offset)) state_.trusted_nano = offset;
  } else if (is_near(offset, *state_.trusted_nano)) {
    believe(offset);
    return;
  } else if (!doubt || !is_near(offset, doubt->anchor_nano)) {
    doubt_boot(offset);
    return;
  } else if (!doubt->across_boots && offset > doubt->anchor_nano) {
    // The clock kept the step of the boot before; what it has gained since is time off.
    state_.age_nano += distance(offset, doubt->anchor_nano);
    offset = doubt->anchor_nano;
  }
  state_.offset_nano = offset;
}

void AgeTime::believe(int64_t offset) {
  const int64_t trusted = *state_.trusted_nano;
  const bool pending = state_.doubt && state_.doubt->across_boots;
  if (!pending && offset > trusted) {
    state_.age_nano += distance(offset, trusted);
    offset = trusted;
  }
  return_to_trusted(offset);
  state_.offset_nano = offset;
}

// The age time moves on by one, so that stamps of the new boot are greater than all earlier ones.
void AgeTime::doubt_boot(int64_t offset) {
  const std::optional<ClockDoubt> earlier = state_.doubt;
  const bool pending = earlier && earlier->across_boots;
  ++state_.age_nano;
  --offset;
  ClockDoubt doubt{
      .anchor_nano = offset, .stable_nano = 0, .across_boots = true, .since_nano = state_.age_nano, .off_nano = 0};
  if (pending) doubt.since_nano = earlier->since_nano;
  if (pending) doubt.off_nano = earlier->off_nano;
  note_off(doubt, offset - *state_.trusted_nano);
  if (earlier && !pending) note_off(doubt, offset - earlier->anchor_nano);
  state_.doubt = doubt;
  state_.offset_nano = offset;
}

void AgeTime::judge(int64_t offset, uint64_t elapsed_nano) {
  if (!is_near(offset, state_.offset_nano)) ++steps_;
  if (distance(offset, state_.offset_nano) > static_cast<uint64_t>(kJitterNano)) state_.offset_nano = offset;
  if (!state_.trusted_nano) {
    if (is_plausible(offset)) state_.trusted_nano = offset;
  } else if (is_near(offset, *state_.trusted_nano)) {
    return_to_trusted(offset);
  } else {
    doubt_step(offset, elapsed_nano);
  }
}

void AgeTime::return_to_trusted(int64_t offset) {
  const int64_t trusted = *state_.trusted_nano;
  const bool is_later = offset > trusted + kJitterNano;
  if (state_.doubt && state_.doubt->across_boots && is_later) add_gap(distance(offset, trusted));
  state_.doubt.reset();
  if (is_later) state_.trusted_nano = offset;
}

void AgeTime::doubt_step(int64_t offset, uint64_t elapsed_nano) {
  if (!state_.doubt) state_.doubt = ClockDoubt{.anchor_nano = offset};
  ClockDoubt& doubt = *state_.doubt;
  if (!is_near(offset, doubt.anchor_nano)) {
    doubt.anchor_nano = offset;
    doubt.stable_nano = 0;
    if (doubt.across_boots) note_off(doubt, offset - *state_.trusted_nano);
    return;
  }
  doubt.stable_nano += elapsed_nano;
  const uint64_t needed = offset > *state_.trusted_nano ? kConfirmNano : kConfirmBackNano;
  if (doubt.stable_nano >= needed && is_plausible(offset)) confirm(offset);
}

void AgeTime::confirm(int64_t offset) {
  if (state_.doubt && state_.doubt->across_boots && offset > state_.trusted_nano.value_or(offset)) {
    add_gap(state_.doubt->off_nano);
  }
  state_.doubt.reset();
  state_.trusted_nano = offset;
}

bool AgeTime::accept() {
  if (!is_plausible(state_.offset_nano)) return false;
  confirm(state_.offset_nano);
  return true;
}

// Two of the oldest become one where there are too many; what lies between them counts as younger than it is.
void AgeTime::add_gap(uint64_t off_nano) {
  std::vector<AgeGap>& gaps = state_.gaps;
  gaps.push_back({state_.doubt->since_nano, std::min(off_nano, kMostAgeNano - 1)});
  if (gaps.size() <= kMostAgeGaps) return;
  gaps[1] = {gaps[0].at_nano, std::min(gaps[0].off_nano + gaps[1].off_nano, kMostAgeNano - 1)};
  gaps.erase(gaps.begin());
}

bool AgeTime::is_paused() const {
  return state_.doubt && state_.doubt->across_boots && state_.doubt->stable_nano < kConfirmNano;
}

bool AgeTime::is_gap_pending() const {
  return state_.doubt && state_.doubt->across_boots && state_.doubt->off_nano > 0;
}

uint64_t AgeTime::cutoff(uint64_t now_nano, uint64_t keep_nano) const {
  uint64_t at = now_nano;
  uint64_t left = std::min(keep_nano, kMostAgeNano) + (is_paused() ? kConfirmNano : 0);
  for (auto gap = state_.gaps.rbegin(); gap != state_.gaps.rend(); ++gap) {
    const uint64_t run = at - std::min(at, gap->at_nano);
    if (left <= run) return at - left;
    left -= run;
    at = std::min(at, gap->at_nano);
    if (left <= gap->off_nano) return at;
    left -= gap->off_nano;
  }
  return at - std::min(at, left);
}

uint64_t AgeTime::unix_of(uint64_t stamp_nano) const {
  const bool is_before = state_.doubt && state_.doubt->across_boots && stamp_nano < state_.doubt->since_nano;
  return unix_by(is_before ? state_.trusted_nano.value_or(0) : state_.offset_nano, stamp_nano);
}

UnixSpan AgeTime::unix_span(uint64_t first_nano, uint64_t last_nano) const {
  UnixSpan span{unix_of(first_nano), unix_of(last_nano)};
  if (!state_.doubt) return span;
  const int64_t trusted = state_.trusted_nano.value_or(state_.offset_nano);
  span.first_nano = std::min(span.first_nano, unix_by(trusted, first_nano));
  span.last_nano = std::max(span.last_nano, unix_by(trusted, last_nano));
  // A boot between the two stamps may have set the wall clock back.
  const uint64_t boot_nano = state_.doubt->across_boots ? state_.doubt->since_nano : 0;
  if (first_nano < boot_nano && boot_nano <= last_nano) {
    span.first_nano = std::min(span.first_nano, unix_of(boot_nano));
  }
  return span;
}

uint64_t AgeTime::unix_by(int64_t offset, uint64_t stamp_nano) const {
  const int64_t sum = static_cast<int64_t>(std::min(stamp_nano, kMostAgeNano)) + offset;
  auto unix_nano = static_cast<uint64_t>(std::max<int64_t>(sum, 0));
  for (const AgeGap& gap : state_.gaps) {
    if (gap.at_nano > stamp_nano) unix_nano -= std::min(unix_nano, gap.off_nano);
  }
  return unix_nano;
}

}  // namespace fathom::store

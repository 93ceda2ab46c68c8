#include "store/clock/age_clock.h"

namespace fathom::store {

AgeClock::AgeClock(ReadClocks read, const std::optional<AgeState>& saved, const AgeWitness& witness)
    : read_(std::move(read)), time_(AgeTime::start(saved, witness, read_())) {}

uint64_t AgeClock::now() const {
  const uint64_t boottime = read_().boottime_nano;
  std::lock_guard lock(mutex_);
  return time_.at(boottime);
}

uint64_t AgeClock::cutoff(uint64_t keep_nano) const {
  const uint64_t boottime = read_().boottime_nano;
  std::lock_guard lock(mutex_);
  return time_.cutoff(time_.at(boottime), keep_nano);
}

uint64_t AgeClock::unix_of(uint64_t stamp_nano) const {
  std::lock_guard lock(mutex_);
  return time_.unix_of(stamp_nano);
}

void AgeClock::observe() {
  std::lock_guard lock(mutex_);
  time_.observe(read_());
}

bool AgeClock::accept() {
  std::lock_guard lock(mutex_);
  return time_.accept();
}

AgeTime AgeClock::time() const {
  std::lock_guard lock(mutex_);
  return time_;
}

}  // namespace fathom::store

// AgeClock: the age time of a data directory, shared by everything that the server keeps in it.
//
// Purpose: spans, captures, snapshots and identities ask one clock, so that they agree about ages (age_time.h defines
// them). Thread safety: all of it. Ownership: shared; it keeps nothing on disk itself (ClockKeeper does). Errors: none.
#pragma once

#include <memory>
#include <mutex>

#include "store/clock/age_time.h"

namespace fathom::store {

class AgeClock {
 public:
  explicit AgeClock(ReadClocks read = read_clocks, const std::optional<AgeState>& saved = std::nullopt,
                    const AgeWitness& witness = {});

  // The stamp for something that is received now.
  uint64_t now() const;
  // Stamps below this are of things received more than `keep_nano` ago; 0: there are none.
  uint64_t cutoff(uint64_t keep_nano) const;
  // The wall clock's time of a stamp, by the wall clock as it runs now.
  uint64_t unix_of(uint64_t stamp_nano) const;

  void observe();
  bool accept();         // as AgeTime::accept()
  AgeTime time() const;  // a copy

 private:
  const ReadClocks read_;
  mutable std::mutex mutex_;
  AgeTime time_;
};

}  // namespace fathom::store

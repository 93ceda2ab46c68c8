// ClockKeeper: the age clock of a data directory on disk, in the log and in /metrics.
//
// Purpose: opens the clock from DIR/clock, writes it back once a minute and whenever more than the time has changed,
// reports steps and pauses, and obeys DIR/accept-clock, an empty file by which an operator says that the wall clock is
// right. Thread safety: clock() from any thread; tick() and save() from one thread at a time. Ownership: `env` outlives
// it; the clock is shared. Errors: a state that is missing or cannot be read is set aside as DIR/clock.damaged, logged
// and counted; a state that cannot be written is logged and counted, and written again at the next tick. Neither stops
// the server, but the first state of a directory must be written (check_begun()).
#pragma once

#include <memory>
#include <optional>
#include <string>

#include <rocksdb/env.h>

#include "base/log_pace.h"
#include "store/clock/age_clock.h"

namespace fathom::store {

class ClockKeeper {
 public:
  // No stored stamp is greater than `newest_nano`; 0: nothing is stored.
  ClockKeeper(rocksdb::Env& env, const std::string& directory, ReadClocks read, uint64_t newest_nano);
  ~ClockKeeper();

  std::shared_ptr<AgeClock> clock() const { return clock_; }
  // Call it every second.
  void tick();
  // Fails while the file still has the first state: the next start would take new stamps for Unix times.
  Result<> check_begun() const;

 private:
  std::optional<AgeState> load();
  void set_aside(const Error& why);
  void obey_operator();
  void report(const AgeTime& time);
  void save_if_due(const AgeState& state);
  void save(const AgeState& state);
  Result<> write(const std::string& bytes);

  rocksdb::Env& env_;
  const std::string directory_;
  std::shared_ptr<AgeClock> clock_;
  AgeState saved_;
  bool has_saved_ = false;
  bool is_first_ = false;  // the file had the first state
  bool was_paused_ = false;
  uint64_t steps_ = 0;
  int64_t offset_nano_ = 0;
  LogPace failure_pace_{kNanosPerMinute};
};

// How often the state is saved. After a crash and a boot, the age time may be behind lost stamps by this much.
inline constexpr uint64_t kClockSaveNano = kNanosPerMinute;

// The version of the data directory from which on it has the file `clock`.
inline constexpr int kFirstVersionWithClock = 7;

// Writes the first state, if there is no file `clock`. Call it before an older directory gets the version above, and
// before the first start of a new one ends. A missing file is then damage.
Result<> write_first_clock(rocksdb::Env& env, const std::string& directory);

// Whether the file `clock` of a directory has the first state.
bool has_first_clock(const std::string& directory);

// Makes every series of the clock appear in /metrics.
void register_clock_metrics();

}  // namespace fathom::store

// AgeTime: a time for ages that no step of the wall clock changes.
//
// Purpose: retention and identities need "how long ago was this received", and CLOCK_REALTIME cannot answer that: it
// can be wrong and it can be stepped. Whatever arrives is stamped with the *age time*. The age time begins as the wall
// clock's time when a data directory is new, advances by CLOCK_BOOTTIME, and never goes back or jumps while the host
// runs. A process that starts again in the same boot continues it exactly.
//
// Between two boots only the wall clock knows how long the host was off. The *offset* is the wall clock minus the age
// time; time off makes it grow, and so does a step of the clock. The offset of a wall clock that was confirmed is
// *trusted*. After a boot:
//  - An offset at most an hour from the trusted one is believed. The age time advances by the difference.
//  - Any other offset is *doubted*, and retention by age is paused. When the wall clock has run for an hour without a
//    further step of more than an hour, the difference counts as time off: a *gap*, by which everything received before
//    that boot ages, and nothing received since. If the wall clock comes back to within an hour of the trusted offset,
//    that ends the doubt at once. A wall clock before 2026 is never confirmed.
//  - Of several differences that were seen during one doubt, the smallest counts: ages are rather too low than too
//  high.
// A step within a boot changes no age. The new offset becomes trusted after an hour, or, if it is less than the trusted
// one, after seven days: a clock that was wrong for some hours and is corrected by a reboot must not look like time
// off.
//
// While paused, a cutoff lies an hour further back than otherwise. So nothing reaches it during the first hour, and a
// host that never runs for an hour at a time still drops what is older by its running time.
//
// Thread safety: none; AgeClock has it. Units: nanoseconds; age times and wall clock times are below 2^62.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "base/time.h"
#include "store/clock/age_state.h"
#include "store/clock/clock_reading.h"

namespace fathom::store {

// What is known about a clock that has no usable state.
struct AgeWitness {
  uint64_t newest_nano = 0;  // no stored stamp is greater; 0: nothing is stored
  bool is_unix = false;      // stamps are wall clock times: an older version of the directory
};

// Both ends are included, and the first is never greater than the last.
struct UnixSpan {
  uint64_t first_nano = 0;
  uint64_t last_nano = 0;
};

inline constexpr uint64_t kClockStepNano = kNanosPerHour;          // a greater change of the offset is a step
inline constexpr uint64_t kConfirmNano = kNanosPerHour;            // of running time, for an offset that grew
inline constexpr uint64_t kConfirmBackNano = 168 * kNanosPerHour;  // for one that became less
inline constexpr uint64_t kEarliestWallNano = 1'767'225'600 * kNanosPerSecond;  // 2026-01-01: fathom did not exist

class AgeTime {
 public:
  static AgeTime start(const std::optional<AgeState>& saved, const AgeWitness& witness, const ClockReading& reading);
  // The age time when its state was saved, to convert stamps without reading a clock.
  static AgeTime as_saved(const AgeState& state) { return AgeTime(state); }

  // The age time at a boot time of this boot.
  uint64_t at(uint64_t boottime_nano) const;
  // Takes what the clocks read now; call it every few seconds.
  void observe(const ClockReading& reading);
  // The operator says that the wall clock is right: it is trusted at once. False: it shows a time before
  // kEarliestWallNano, so it is not.
  bool accept();

  bool is_paused() const;
  // Time off that is not confirmed yet may come between what is stored and what arrives.
  bool is_gap_pending() const;
  // Stamps below this are of things received more than `keep_nano` before the age time `now_nano`; 0: there are none.
  uint64_t cutoff(uint64_t now_nano, uint64_t keep_nano) const;
  // When, by the wall clock as it runs now, something with this stamp was received.
  uint64_t unix_of(uint64_t stamp_nano) const;
  // When things with stamps from `first_nano` to `last_nano` can have been received. While the wall clock is in doubt,
  // that includes the times by the offset that was last trusted.
  UnixSpan unix_span(uint64_t first_nano, uint64_t last_nano) const;

  uint64_t steps() const { return steps_; }  // of the wall clock, that were observed while running
  const AgeState& state() const { return state_; }

 private:
  explicit AgeTime(AgeState state) : state_(std::move(state)) {}

  void begin(const AgeWitness& witness, const ClockReading& reading);
  void advance(const ClockReading& reading, uint64_t at_least_nano);
  void cross_boots(int64_t offset);
  void believe(int64_t offset);
  void doubt_boot(int64_t offset);
  void judge(int64_t offset, uint64_t elapsed_nano);
  void return_to_trusted(int64_t offset);
  void doubt_step(int64_t offset, uint64_t elapsed_nano);
  void confirm(int64_t offset);
  void add_gap(uint64_t off_nano);
  int64_t offset_of(const ClockReading& reading) const;
  uint64_t unix_by(int64_t offset, uint64_t stamp_nano) const;
  bool is_plausible(int64_t offset) const;

  AgeState state_;
  uint64_t steps_ = 0;
};

}  // namespace fathom::store

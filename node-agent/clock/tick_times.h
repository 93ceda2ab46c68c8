// TickTimes: what time it was at a tick: programs stamp spans with a counter, the world wants nanoseconds since 1970.
//
// Purpose: the log of readings of all clocks, and what follows from it. Ticks become CLOCK_MONOTONIC by interpolation
// between readings taken all the time (one a second is kept, the newest is always fresh), so the counter's rate is
// measured, never assumed. Durations are differences of that and never see CLOCK_REALTIME. Where on the calendar a span
// lies is said by *today's* CLOCK_REALTIME, also for spans from before it was stepped: then a batch is of one clock, to
// which the measured offset of the collector applies. A suspended host (CLOCK_BOOTTIME runs away from CLOCK_MONOTONIC)
// or a counter that jumps begins a new epoch: readings of two epochs are not interpolated between. Thread safety: none;
// a plain value, of which another thread takes a copy of its own (some 200 KB at most). Errors: none; ticks are a
// stranger's numbers, and wild ones give wild times, not faults. The source of the idea: the kernel's timekeeping,
// which does the same between its ticks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "capture/capture.h"
#include "client/pool/layout.h"
#include "node-agent/clock/clock_source.h"

namespace fathom::agent {

class TickTimes {
 public:
  explicit TickTimes(const ClockReading& now) { update(now); }

  void update(const ClockReading& now);
  // Whether the counter's rate is known, from two readings.
  bool ready() const { return rate_known_; }

  // Of a tick of either clock, in CLOCK_MONOTONIC's nanoseconds: for differences.
  uint64_t monotonic_nano(pool::Clock clock, uint64_t ticks) {
    return clock == pool::Clock::kTsc ? place_of(ticks).monotonic_nano : ticks;
  }
  uint64_t unix_nano(pool::Clock clock, uint64_t ticks) {
    Place place = clock == pool::Clock::kTsc ? place_of(ticks) : place_of_monotonic(ticks);
    return place.monotonic_nano + place.slept_nano + real_minus_boot_nano_;  // modulo 2^64: the last may be "negative"
  }
  // The other way round, for windows. In the gap between two epochs, by the earlier one.
  uint64_t ticks_at(pool::Clock clock, uint64_t monotonic_nano) const;

  // Whether a clock jumped, or may have, between two instants of CLOCK_MONOTONIC.
  bool crosses_jump(uint64_t begin_nano, uint64_t end_nano) const;
  // The readings from the last one before the window to the first one behind it. All of today's CLOCK_REALTIME, as the
  // instants above; a step of it is no jump. Epochs are counted from the first of these.
  std::vector<capture::Anchor> anchors(uint64_t begin_nano, uint64_t end_nano) const;
  size_t readings() const { return readings_.size(); }

 private:
  struct Reading {
    ClockReading at;
    uint64_t slept_nano = 0;  // as the first reading of its epoch had it, so that noise moves nothing within one
    size_t epoch = 0;         // index of that reading
  };
  struct Place {
    uint64_t monotonic_nano;
    uint64_t slept_nano;  // until then: boot_nano - monotonic_nano
  };
  // Between two readings, or beyond one: nanoseconds = base + (ticks - first) * rate.
  struct Segment {
    uint64_t first_ticks = 1;
    uint64_t last_ticks = 0;  // below first_ticks: none
    uint64_t base_nano = 0;
    uint64_t rate = 0;  // nanoseconds per tick, times 2^48
    uint64_t slept_nano = 0;
  };

  Place place_of(uint64_t ticks) {
    if (ticks < segment_.first_ticks || ticks > segment_.last_ticks) find_segment(ticks);
    return {segment_.base_nano + scaled(ticks - segment_.first_ticks, segment_.rate), segment_.slept_nano};
  }
  static uint64_t scaled(uint64_t ticks, uint64_t rate) {
    return static_cast<uint64_t>((static_cast<unsigned __int128>(ticks) * rate) >> 48);
  }
  Place place_of_monotonic(uint64_t nano) const;
  size_t index_before(uint64_t monotonic_nano) const;
  size_t index_behind(uint64_t monotonic_nano) const;
  void find_segment(uint64_t ticks);
  bool is_near(uint64_t ticks, uint64_t back_nano, size_t epoch) const;
  void segment_between(const Reading& first, const Reading& last);
  void segment_after(uint64_t ticks, const Reading& last, const Reading* next);
  void segment_before_all(const Reading& first);
  void segment_at(uint64_t ticks, uint64_t monotonic_nano, uint64_t slept_nano);
  void append(const ClockReading& now, bool begins_epoch);
  bool is_new_epoch(const ClockReading& now) const;
  void measure_rate();
  void thin_out();

  std::vector<Reading> readings_;  // in the order of CLOCK_MONOTONIC; the last one is replaced until it is a second old
  Segment segment_;                // of the last conversion: nearly always of the next one, too
  uint64_t rate_ = 0;              // over the longest stretch of the newest epoch that has one
  bool rate_known_ = false;
  uint64_t real_minus_boot_nano_ = 0;
};

}  // namespace fathom::agent

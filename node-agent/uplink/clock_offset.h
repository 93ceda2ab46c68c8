// OffsetEstimator: how far this host's calendar clock is from the collector's, and how wrong that can be.
//
// Purpose: every batch carries offset and error, so that the order of spans across hosts is known as well as it was
// measured. Each probe (NTP's four instants) bounds the collector's clock minus CLOCK_BOOTTIME from both sides, however
// unequal the two ways were; bounds widen with age by the drift that is allowed for; the estimate is what all recent
// bounds have in common, in which the least round trip counts most. CLOCK_BOOTTIME is the base because it neither steps
// nor sleeps: a step of CLOCK_REALTIME changes the difference that each instant carries itself, not what was measured.
// Bounds that have nothing in common mean that the collector's clock was stepped: the older ones are dropped. What is
// told stays the same number while the bounds allow it, and is nothing at first: times of one host are corrected by one
// and the same offset then, and a collector on this very host finds none, whatever the ways took.
// Thread safety: none, one thread. Units: nanoseconds. Errors: none; a probe that cannot be true is ignored.
// The source of the idea: NTP's clock filter (RFC 5905) and Marzullo's intersection of intervals.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>

#include "base/clock_offset.h"

namespace fathom::agent {

// One moment on two clocks of this host.
struct LocalInstant {
  uint64_t real_nano = 0;
  uint64_t boot_nano = 0;
  uint64_t uncertain_nano = 0;  // by so much times told by it may be off: steps around it, drift since they were
};

struct ProbeTimes {
  uint64_t sent_boot_nano = 0;
  uint64_t collector_received_unix_nano = 0;
  uint64_t collector_sent_unix_nano = 0;
  uint64_t received_boot_nano = 0;
};

class OffsetEstimator {
 public:
  // Two quartz clocks are within some 100 ppm of the truth each, and the kernel's slewing for NTP adds up to 500; what
  // remains is for a counter's rate that was measured a moment only.
  static constexpr uint64_t kDriftPpm = 1000;
  // By so much two clocks may have moved against each other in `nano`.
  static uint64_t drift_in(uint64_t nano);

  void probed(const ProbeTimes& times);
  // Another collector may answer from now on.
  void forget() { bounds_.clear(); }

  bool known() const { return !bounds_.empty(); }
  size_t epochs() const { return epochs_; }  // how often it began anew, the first time included
  uint64_t measured_boot_nano() const { return bounds_.empty() ? 0 : bounds_.back().at_boot_nano; }
  // For times of the real clock as it was at `instant`, which may be long ago.
  std::optional<ClockOffset> at(const LocalInstant& instant);

 private:
  // Of the collector's clock minus CLOCK_BOOTTIME, at a moment.
  struct Bounds {
    uint64_t at_boot_nano = 0;
    int64_t low = 0;
    int64_t high = 0;
  };
  static constexpr size_t kKept = 16;

  static Bounds at_moment(const Bounds& bounds, uint64_t boot_nano);
  std::optional<Bounds> common(uint64_t boot_nano) const;

  std::deque<Bounds> bounds_;
  int64_t told_nano_ = 0;
  size_t epochs_ = 0;
};

// StepWatch: notices that CLOCK_REALTIME was stepped, and for a while marks instants as uncertain by so much: times of
// spans may have been converted just before.
class StepWatch {
 public:
  LocalInstant mark(LocalInstant instant);

 private:
  static constexpr uint64_t kSettlesNano = 3'000'000'000;
  static constexpr uint64_t kSlewPpm = 1000;
  static constexpr uint64_t kLeastStepNano = 1'000'000;

  std::optional<LocalInstant> last_;
  uint64_t stepped_at_boot_nano_ = 0;
  uint64_t step_nano_ = 0;
};

}  // namespace fathom::agent

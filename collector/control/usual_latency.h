// UsualLatency: the tail of an operation's usual latency, learnt so that a temporary fault does not become usual.
//
// Purpose: the p99 that thresholds are derived from. A fault that slows down a few percent of the requests changes the
// p99 at once, so the current p99 does not show what is usual. Two rules withstand faults that affect up to 5 % of the
// requests for ten minutes:
// - If 21 windows are known: the median of p99 / p50 over the last 60 windows, times the p50 of the last ten minutes. A
//   window is a minute, or the time until 100 spans are counted. If the whole operation becomes slower, its p50 follows
//   within minutes, and the tail with it.
// - Before that: the p99 of a log-normal distribution with the measured p50 and p90, or the measured p99 if it is less.
//   p50 and p90 hardly change if 5 % become slow. An operation with two usual speeds, such as a cache with 8 % misses,
//   gets too short a tail until 21 windows are known.
// Errors and slow spans are part of the distribution. Counts fade by a tenth each minute, but never below 100 spans.
// Thread safety: a plain value. Memory: 2 KiB as a rule, 11 KiB at most.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "collector/control/decayed_histogram.h"

namespace fathom::collector {

class UsualLatency {
 public:
  static constexpr double kKnownSpans = 100;
  static constexpr size_t kMostWindows = 60;
  static constexpr size_t kMatureWindows = 21;

  void add(uint32_t bucket) {
    lately_.add(bucket);
    window_.add(bucket);
  }
  // Adds spans from before the start; they belong to no window.
  void seed(uint32_t bucket, float weight) { lately_.add(bucket, weight); }
  // Called when minutes have passed; earlier counts are multiplied by `kept`.
  void fade(double kept);

  // True if enough spans are known to estimate the tail.
  bool is_known() const { return lately_.weight() >= kKnownSpans - 0.5; }  // fading counts are not exact
  uint64_t tail_nano() const;

 private:
  void end_window();
  double usual_ratio() const;
  uint64_t tail_of_young_nano() const;

  DecayedHistogram lately_;
  DecayedHistogram window_;
  std::vector<float> ratios_;  // p99 / p50 of windows; beyond kMostWindows, a new one replaces the oldest
  size_t next_ = 0;
};

}  // namespace fathom::collector

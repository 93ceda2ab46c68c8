// UsualLatency: how long an operation usually takes at most, learnt so that a fault does not become usual.
//
// Purpose: the tail (p99) that thresholds are derived from. A fault that makes a few percent of the requests slow is in
// the p99 at once; so the p99 of one moment says nothing about what is usual. Two rules, both robust against faults
// that strike up to 5 % of the requests for ten minutes:
// - An operation of which 21 windows are known: the median, over the last 60 windows, of p99 / p50, times the p50 of
//   the last ten minutes. A window is a minute, or as long as it takes to see 100 spans. If the whole operation becomes
//   slower, its p50 follows within minutes, and the tail with it.
// - A younger one: what a log-normal law through its p50 and p90 has for p99, or the p99, if that is less. The first
//   two hardly change if 5 % become slow. An operation with two usual speeds, like a cache with 8 % misses, has a tail
//   that is too short until it is 21 windows old.
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
  // Spans of before: they belong to no window.
  void seed(uint32_t bucket, float weight) { lately_.add(bucket, weight); }
  // To be called when minutes have passed: `kept` of what was counted until then counts still.
  void fade(double kept);

  // Whether anything can be said.
  bool is_known() const { return lately_.weight() >= kKnownSpans - 0.5; }  // fading counts are not exact
  uint64_t tail_nano() const;

 private:
  void end_window();
  double usual_ratio() const;
  uint64_t tail_of_young_nano() const;

  DecayedHistogram lately_;
  DecayedHistogram window_;
  std::vector<float> ratios_;  // p99 / p50 of windows; when there are kMostWindows, the next takes the oldest's place
  size_t next_ = 0;
};

}  // namespace fathom::collector

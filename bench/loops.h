// Loops of a cheap operation, timed as a whole: what a figure in nanoseconds is the median of.
//
// Purpose: the same way of measuring for what is ours and for its rivals. Thread safety: plain functions. Units:
// nanoseconds per call.
#pragma once

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <vector>

#include "base/time.h"

namespace fathom::bench {

inline constexpr int kLoopsOfARound = 10;
inline constexpr int kCallsOfALoop = 1500;  // spans that every rival holds without a loss until it is emptied

inline void pin_this_thread(unsigned processor) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(processor, &set);
  pthread_setaffinity_np(pthread_self(), sizeof set, &set);
}

inline double median(std::vector<double>& times) {
  auto middle = times.begin() + static_cast<long>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return *middle;
}

template <typename Body>
double time_loop(Body&& body) {
  const uint64_t begin = now_monotonic_nano();
  for (int i = 0; i < kCallsOfALoop; ++i) body(i);
  return static_cast<double>(now_monotonic_nano() - begin) / kCallsOfALoop;
}

}  // namespace fathom::bench

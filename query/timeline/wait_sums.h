// WaitSums: what a thread's waits add up to, by state, by what they were in, and by what ended them.
//
// Purpose: a hundred short waits for one thread cost as much as a long one, which alone the longest wait shows. Rules:
// two waits are alike when they have the same state, were in the same system call (or a page fault), and were ended by
// the same thread, by an interrupt, or by nothing that is known. Waits for a processor are alike when they have the
// same cause. Work is bounded: all sums of one thread together visit each state 16 times on average; sums beyond that
// are marked as left out. Beyond 1,000 kinds of waits, further kinds are counted together. Thread safety: none.
// Ownership: views into the index and its states. What it takes is told to `meter`.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "query/timeline/meter.h"
#include "query/timeline/state_index.h"
#include "query/timeline/thread_states.h"

namespace fathom::query {

struct WaitSum {
  StateInterval longest;  // of those that are alike; of a wait for a processor without its waker
  std::string_view in;    // a system call, "page fault"; empty: not known, or for a processor
  uint64_t count = 0;
  uint64_t total_nano = 0;
  uint64_t guessed_nano = 0;  // of the total
};

struct WaitSums {
  std::vector<WaitSum> sums;  // the most expensive first, kMostWaitSums at most
  uint64_t more_count = 0;    // waits of other kinds
  uint64_t more_nano = 0;
  bool left_out = false;  // it would have taken too much work

  // The others count as further ones.
  void keep(size_t most);
};
inline constexpr size_t kMostWaitSums = 8;

class WaitSummer {
 public:
  // `in`: of each state of the index, what a wait of it was in.
  WaitSummer(const StateIndex& index, std::span<const std::string_view> in, Meter& meter);

  // Of the waits within [begin, end), each cut to it.
  WaitSums sums(uint64_t begin_nano, uint64_t end_nano);

 private:
  const StateIndex& index_;
  const std::span<const std::string_view> in_;
  Meter& meter_;
  uint64_t steps_left_;
};

}  // namespace fathom::query

// WaitSums: totals of a thread's waits by state, by place, and by the thread that ended them.
//
// Purpose: a hundred short waits for one thread cost as much as a long one, but the longest wait alone does not show
// them. Rules: two waits are of one kind if they have the same state, were in the same system call (or a page fault),
// and were ended by the same thread, by an interrupt, or by an unknown cause. Waits for a processor are of one kind if
// they have the same cause. Bounds: all sums of a thread together visit each state 16 times on average; further sums
// are marked as left out. Waits of more than 1,000 kinds are counted together. Thread safety: none. Ownership: views
// into the index and its states. Work and memory are charged to `meter`.
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
  StateInterval longest;  // of this kind; of a wait for a processor, without its waker
  std::string_view in;    // a system call, or "page fault"; empty: unknown, or a wait for a processor
  uint64_t count = 0;
  uint64_t total_nano = 0;
  uint64_t guessed_nano = 0;  // part of total_nano
};

struct WaitSums {
  std::vector<WaitSum> sums;  // the most expensive first, at most kMostWaitSums
  uint64_t more_count = 0;    // waits of other kinds
  uint64_t more_nano = 0;
  bool left_out = false;  // the sums were too much work

  // Keeps the first `most` sums, and adds the others to more_count and more_nano.
  void keep(size_t most);
};
inline constexpr size_t kMostWaitSums = 8;

class WaitSummer {
 public:
  // `in`: by state of the index, the place of a wait.
  WaitSummer(const StateIndex& index, std::span<const std::string_view> in, Meter& meter);

  // Sums of the waits within [begin, end), each cut to that range.
  WaitSums sums(uint64_t begin_nano, uint64_t end_nano);

 private:
  const StateIndex& index_;
  const std::span<const std::string_view> in_;
  Meter& meter_;
  uint64_t steps_left_;
};

}  // namespace fathom::query

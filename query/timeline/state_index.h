// StateIndex: how long a thread was in which state, and its longest wait, within any interval, in logarithmic time.
//
// Purpose: every span and every system call of a thread asks, and a hostile capture has a million of both and a million
// states. Sums up to every 32nd state, and the longest waits between them as a tree; the rest is walked. Rules: what a
// state says of a time before the end of the one ahead of it (clocks of two captures, or anchors that are turned back)
// does not count. Thread safety: a plain value once it is made. Ownership: none: the states outlive it.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "query/timeline/thread_states.h"

namespace fathom::query {

class StateIndex {
 public:
  explicit StateIndex(std::span<const StateInterval> states);

  // The longest wait is cut to [begin, end); of several as long the first.
  StateTotals totals(uint64_t begin_nano, uint64_t end_nano) const;
  // Number of states that overlap [begin, end).
  size_t count(uint64_t begin_nano, uint64_t end_nano) const;
  // Calls visit(state, number) for each overlapping state, by time. The state is cut to [begin, end).
  template <typename Visit>
  void each(uint64_t begin_nano, uint64_t end_nano, Visit visit) const {
    const auto [first, last] = pieces_within(begin_nano, end_nano);
    for (size_t i = first; i < last; ++i) visit(cut(i, begin_nano, end_nano), size_t{pieces_[i].state});
  }

 private:
  static constexpr size_t kBlock = 32;
  struct Sums {
    StateNano nano{};
    StateNano guessed_nano{};
    void add(const StateInterval& state, uint64_t duration_nano);
  };

  struct Piece {
    uint64_t begin_nano = 0;
    uint64_t end_nano = 0;
    uint32_t state = 0;  // index
    uint64_t duration_nano() const { return end_nano - begin_nano; }
  };
  static constexpr uint32_t kNone = UINT32_MAX;

  class Sum;
  std::pair<size_t, size_t> pieces_within(uint64_t begin_nano, uint64_t end_nano) const;
  StateInterval cut(size_t piece, uint64_t begin_nano, uint64_t end_nano) const;
  uint64_t wait_nano(uint32_t piece) const;
  uint32_t longer(uint32_t first, uint32_t second) const;
  void add_whole(Sum& sum, size_t first, size_t last) const;
  uint32_t longest_of_blocks(size_t first, size_t last) const;

  std::span<const StateInterval> states_;
  std::vector<Piece> pieces_;    // by time, none meets another
  std::vector<Sums> sums_;       // before each block
  std::vector<uint32_t> waits_;  // a tree: the longest wait's piece of each block behind `blocks_`, of two before it
  size_t blocks_ = 0;
};

}  // namespace fathom::query

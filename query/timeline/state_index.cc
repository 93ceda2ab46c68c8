#include "query/timeline/state_index.h"

#include <algorithm>

namespace fathom::query {

class StateIndex::Sum {
 public:
  Sum(const StateIndex& index, uint64_t begin_nano, uint64_t end_nano)
      : index_(index), begin_nano_(begin_nano), end_nano_(end_nano) {}

  void add(size_t piece) {
    StateInterval within = cut(piece);
    sums_.add(within, within.duration_nano());
    if (is_wait(within.state)) offer(within);
  }
  void add(const Sums& before, const Sums& after) {
    for (size_t i = 0; i < kThreadStates; ++i) {
      sums_.nano[i] += after.nano[i] - before.nano[i];
      sums_.guessed_nano[i] += after.guessed_nano[i] - before.guessed_nano[i];
    }
  }
  void offer_piece(uint32_t piece) {
    if (piece != kNone) offer(cut(piece));
  }
  StateTotals take() const { return {sums_.nano, sums_.guessed_nano, longest_wait_}; }

 private:
  StateInterval cut(size_t piece) const { return index_.cut(piece, begin_nano_, end_nano_); }
  void offer(const StateInterval& wait) {
    if (longest_wait_ && longest_wait_->duration_nano() >= wait.duration_nano()) return;
    longest_wait_ = wait;
  }

  const StateIndex& index_;
  const uint64_t begin_nano_;
  const uint64_t end_nano_;
  Sums sums_;
  std::optional<StateInterval> longest_wait_;
};

void StateIndex::Sums::add(const StateInterval& state, uint64_t duration_nano) {
  const auto at = static_cast<size_t>(state.state);
  nano[at] += duration_nano;
  if (state.guessed && state.state != ThreadState::kUnknown) guessed_nano[at] += duration_nano;
}

StateIndex::StateIndex(std::span<const StateInterval> states) : states_(states) {
  pieces_.reserve(states.size());
  uint64_t told_nano = 0;
  for (size_t i = 0; i < states.size(); ++i) {
    Piece piece{std::max(states[i].begin_nano, told_nano), states[i].end_nano, static_cast<uint32_t>(i)};
    if (piece.end_nano <= piece.begin_nano) continue;
    told_nano = piece.end_nano;
    pieces_.push_back(piece);
  }
  blocks_ = (pieces_.size() + kBlock - 1) / kBlock;
  sums_.resize(blocks_ + 1);
  waits_.assign(2 * blocks_, kNone);
  for (size_t i = 0; i < pieces_.size(); ++i) {
    size_t block = i / kBlock;
    if (i % kBlock == 0) sums_[block + 1] = sums_[block];
    sums_[block + 1].add(states_[pieces_[i].state], pieces_[i].duration_nano());
    waits_[blocks_ + block] = longer(waits_[blocks_ + block], static_cast<uint32_t>(i));
  }
  for (size_t node = blocks_; node-- > 1;) waits_[node] = longer(waits_[2 * node], waits_[2 * node + 1]);
}

uint64_t StateIndex::wait_nano(uint32_t piece) const {
  if (piece == kNone || !is_wait(states_[pieces_[piece].state].state)) return 0;
  return pieces_[piece].duration_nano();
}

// Of two as long the earlier.
uint32_t StateIndex::longer(uint32_t first, uint32_t second) const {
  uint64_t a = wait_nano(first), b = wait_nano(second);
  if (a == 0 && b == 0) return kNone;
  return a != b ? (a > b ? first : second) : std::min(first, second);
}

uint32_t StateIndex::longest_of_blocks(size_t first, size_t last) const {
  uint32_t longest = kNone;
  for (size_t from = first + blocks_, to = last + blocks_; from < to; from /= 2, to /= 2) {
    if (from % 2 != 0) longest = longer(longest, waits_[from++]);
    if (to % 2 != 0) longest = longer(longest, waits_[--to]);
  }
  return longest;
}

// Of pieces that nothing cuts.
void StateIndex::add_whole(Sum& sum, size_t first, size_t last) const {
  const size_t from = (first + kBlock - 1) / kBlock, to = last / kBlock;
  if (from >= to) {
    for (; first < last; ++first) sum.add(first);
    return;
  }
  for (; first < from * kBlock; ++first) sum.add(first);
  sum.add(sums_[from], sums_[to]);
  sum.offer_piece(longest_of_blocks(from, to));
  for (size_t at = to * kBlock; at < last; ++at) sum.add(at);
}

StateInterval StateIndex::cut(size_t piece, uint64_t begin_nano, uint64_t end_nano) const {
  const Piece& at = pieces_[piece];
  StateInterval within = states_[at.state];
  within.begin_nano = std::max(at.begin_nano, begin_nano);
  within.end_nano = std::min(at.end_nano, end_nano);
  return within;
}

// [first, last); empty if first >= last.
std::pair<size_t, size_t> StateIndex::pieces_within(uint64_t begin_nano, uint64_t end_nano) const {
  if (begin_nano >= end_nano) return {0, 0};
  auto number = [&](auto piece) { return static_cast<size_t>(piece - pieces_.begin()); };
  return {number(std::ranges::upper_bound(pieces_, begin_nano, {}, &Piece::end_nano)),
          number(std::ranges::lower_bound(pieces_, end_nano, {}, &Piece::begin_nano))};
}

size_t StateIndex::count(uint64_t begin_nano, uint64_t end_nano) const {
  const auto [first, last] = pieces_within(begin_nano, end_nano);
  return last > first ? last - first : 0;
}

StateTotals StateIndex::totals(uint64_t begin_nano, uint64_t end_nano) const {
  Sum sum(*this, begin_nano, end_nano);
  const auto [first, last] = pieces_within(begin_nano, end_nano);
  if (first >= last) return {};
  sum.add(first);
  if (first + 1 == last) return sum.take();
  add_whole(sum, first + 1, last - 1);
  sum.add(last - 1);
  return sum.take();
}

}  // namespace fathom::query

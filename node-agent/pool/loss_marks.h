// LossMarks: what a program counts in its pool as lost, taken over into the agent's own counts once, whoever of several
// agents does it.
//
// Purpose: the pool has two rows of numbers, what the program lost and what of it a collector has heard of
// (docs/node-agent.md). Between the two stands, in this process, what was counted. Thread safety: none. Ownership: the
// rows are the pool's, and given with each call. Hostility: the rows are the program's to change; what grows faster
// than can be is left to `add` to refuse.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "client/pool/detail_layout.h"

namespace fathom::agent {

class LossMarks {
 public:
  static constexpr uint32_t kReasons = pool::kLosses;
  static_assert(kReasons == pool::kDetailLosses);
  using Counts = std::array<uint64_t, kReasons>;
  using Row = std::atomic<uint64_t>[kReasons];

  // Calls add(reason, lost, most) for each that grew; `most`: more than this cannot be true.
  template <typename Add>
  void count(const Row& losses, const Row& told, uint64_t now_monotonic_nano, Add add);
  const Counts& counted() const { return counted_; }
  bool all_told() const { return told_ == counted_; }
  // The collector knows so many.
  void mark_told(const Counts& heard, Row& told);

 private:
  // What is lost takes its thread some nanoseconds, and hosts have hundreds of processors.
  static constexpr uint64_t kMostPerNano = 16;
  static constexpr uint64_t kMostBefore = uint64_t{1} << 40;  // a week without an agent, at a million a second

  Counts counted_{};
  Counts told_{};
  uint64_t counted_nano_ = 0;
};

// What our predecessors told is the pool's to say, once; from then on we remember it ourselves.
template <typename Add>
void LossMarks::count(const Row& losses, const Row& told, uint64_t now_monotonic_nano, Add add) {
  bool first = counted_nano_ == 0;
  uint64_t most = first ? kMostBefore : (now_monotonic_nano - counted_nano_) * kMostPerNano;
  counted_nano_ = now_monotonic_nano;
  for (uint32_t reason = 0; reason < kReasons; ++reason) {
    uint64_t lost = losses[reason].load(std::memory_order_relaxed);
    uint64_t& counted = counted_[reason];
    if (first) counted = told_[reason] = told[reason].load(std::memory_order_relaxed);
    if (lost <= counted) continue;
    add(reason, lost - counted, most);
    counted = lost;
  }
}

inline void LossMarks::mark_told(const Counts& heard, Row& told) {
  for (uint32_t reason = 0; reason < kReasons; ++reason) {
    if (heard[reason] <= told_[reason]) continue;
    told_[reason] = heard[reason];
    told[reason].store(heard[reason], std::memory_order_relaxed);
  }
}

}  // namespace fathom::agent

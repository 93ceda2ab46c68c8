// QueryBudget: the time and the bytes that one query may take, and HeldMemory, the part of the bytes that it gives
// back.
//
// Purpose: a query pays before it takes. Bytes that it reads, or that stay with it until its end, are spent for good.
// Memory that it needs for a while, as decoded columns and loaded spans, is held: charged before it is allocated, and
// given back with the HeldMemory. The limit bounds the sum of both at any time. A scan therefore pays for what it
// reads and for the largest part that it keeps at once.
// Turns: a scheduler may bound the processor time that a query uses before it is asked whether the query may go on.
// Thread safety: cancel() and the getters from any thread; all else from the query's thread. A HeldMemory belongs to
// one thread. Ownership: a HeldMemory may outlive its budget. Units: bytes, nanoseconds. Errors: kExhausted, kDeadline,
// kCancelled.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "base/result.h"

namespace fathom::store {

class QueryAccount;

// Memory that belongs to one object: give it the lifetime of what it pays for. Without a budget it is unlimited.
class HeldMemory {
 public:
  HeldMemory() = default;
  HeldMemory(HeldMemory&& other) noexcept { *this = std::move(other); }
  HeldMemory& operator=(HeldMemory&& other) noexcept;
  ~HeldMemory() { release(); }

  // Takes more; kExhausted, and nothing taken, when the budget has no room.
  Result<> grow(uint64_t bytes);
  // Gives back all but `bytes`, when less was needed than was taken.
  void shrink_to(uint64_t bytes);
  void release() { shrink_to(0); }
  uint64_t bytes() const { return bytes_; }
  // Why the last grow() failed, for callers that learn of it by a false return value.
  const std::optional<Error>& fault() const { return fault_; }

 private:
  friend class QueryBudget;
  std::shared_ptr<QueryAccount> account_;
  uint64_t bytes_ = 0;
  std::optional<Error> fault_;
};

class QueryBudget {
 public:
  QueryBudget() : QueryBudget(UINT64_MAX, UINT64_MAX) {}
  QueryBudget(uint64_t deadline_monotonic_nano, uint64_t bytes);

  void cancel() { cancelled_.store(true, std::memory_order_relaxed); }
  bool is_cancelled() const { return cancelled_.load(std::memory_order_relaxed); }
  // Takes `bytes` from the budget for good, then says whether the query may go on.
  Result<> spend(uint64_t bytes);
  Result<> check() { return spend(0); }
  // Memory of this budget, to be charged by grow().
  HeldMemory hold() const;

  uint64_t spent_bytes() const;
  uint64_t held_bytes() const;
  // The largest sum of both so far.
  uint64_t most_bytes() const;
  // What may still be spent or held, for callers that check before they allocate.
  uint64_t left_bytes() const;
  uint64_t deadline_monotonic_nano() const { return deadline_; }

  // Asks `at_end` once, from spend(), when the query has used `cpu_nano` of its thread, or has taken ten times as long.
  // An error from it ends the query, and was_interrupted() is true.
  using EndOfTurn = std::function<Result<>()>;
  void begin_turn(uint64_t cpu_nano, EndOfTurn at_end);
  void end_turn();
  bool was_interrupted() const { return interrupted_.has_value(); }
  // Forgets what a query that was interrupted or failed has spent, so that it can run again. Nothing may be held.
  void restart();

 private:
  Result<> end_of_turn(uint64_t now_monotonic_nano);

  const uint64_t deadline_;
  std::shared_ptr<QueryAccount> account_;
  std::atomic<bool> cancelled_{false};
  uint64_t turn_check_monotonic_nano_ = UINT64_MAX;
  uint64_t turn_end_monotonic_nano_ = UINT64_MAX;
  uint64_t turn_end_cpu_nano_ = UINT64_MAX;
  EndOfTurn at_end_of_turn_;
  std::optional<Error> interrupted_;
};

}  // namespace fathom::store

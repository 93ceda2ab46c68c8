#include "store/query_budget.h"

#include <time.h>

#include "base/time.h"

namespace fathom::store {

namespace {

constexpr uint64_t kLongestTurns = 10;  // of the processor time of a turn: a query that waits for the disk uses none

uint64_t thread_cpu_nano() {
  timespec used{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return static_cast<uint64_t>(used.tv_sec) * kNanosPerSecond + static_cast<uint64_t>(used.tv_nsec);
}

Error too_much() {
  return exhausted(
      "the query would read or hold more than its byte budget; narrow its time range or its conditions, or raise "
      "--query-bytes");
}

}  // namespace

// Shared by the budget and all memory held under it.
class QueryAccount {
 public:
  explicit QueryAccount(uint64_t limit) : limit_(limit) {}

  bool spend(uint64_t bytes) {
    const uint64_t spent = add(spent_, bytes);
    return note(sum(spent, held()));
  }
  bool hold(uint64_t bytes) {
    const uint64_t together = sum(spent(), add(held_, bytes));
    if (together <= limit_) return note(together);
    give_back(bytes);
    return false;
  }
  void give_back(uint64_t bytes) { held_.fetch_sub(bytes, std::memory_order_relaxed); }
  void forget_spent() { spent_.store(0, std::memory_order_relaxed); }

  uint64_t spent() const { return spent_.load(std::memory_order_relaxed); }
  uint64_t held() const { return held_.load(std::memory_order_relaxed); }
  uint64_t most() const { return most_.load(std::memory_order_relaxed); }
  uint64_t left() const { return limit_ - std::min(limit_, sum(spent(), held())); }

 private:
  static uint64_t sum(uint64_t a, uint64_t b) { return a > UINT64_MAX - b ? UINT64_MAX : a + b; }
  static uint64_t add(std::atomic<uint64_t>& to, uint64_t bytes) {
    return to.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  }
  bool note(uint64_t together) {
    uint64_t before = most();
    while (before < together && !most_.compare_exchange_weak(before, together, std::memory_order_relaxed)) {
    }
    return together <= limit_;
  }

  const uint64_t limit_;
  std::atomic<uint64_t> spent_{0};
  std::atomic<uint64_t> held_{0};
  std::atomic<uint64_t> most_{0};
};

HeldMemory& HeldMemory::operator=(HeldMemory&& other) noexcept {
  if (this == &other) return *this;
  release();
  account_ = std::move(other.account_);
  bytes_ = std::exchange(other.bytes_, 0);
  fault_ = std::exchange(other.fault_, std::nullopt);
  return *this;
}

Result<> HeldMemory::grow(uint64_t bytes) {
  if (account_ == nullptr) return {};
  if (!account_->hold(bytes)) {
    fault_ = too_much();
    return *fault_;
  }
  bytes_ += bytes;
  return {};
}

void HeldMemory::shrink_to(uint64_t bytes) {
  if (account_ == nullptr || bytes >= bytes_) return;
  account_->give_back(bytes_ - bytes);
  bytes_ = bytes;
}

QueryBudget::QueryBudget(uint64_t deadline_monotonic_nano, uint64_t bytes)
    : deadline_(deadline_monotonic_nano), account_(std::make_shared<QueryAccount>(bytes)) {}

HeldMemory QueryBudget::hold() const {
  HeldMemory memory;
  memory.account_ = account_;
  return memory;
}

uint64_t QueryBudget::spent_bytes() const {
  return account_->spent();
}

uint64_t QueryBudget::held_bytes() const {
  return account_->held();
}

uint64_t QueryBudget::most_bytes() const {
  return account_->most();
}

uint64_t QueryBudget::left_bytes() const {
  return account_->left();
}

Result<> QueryBudget::spend(uint64_t bytes) {
  if (is_cancelled()) return Error{ErrorCode::kCancelled, "the query was cancelled"};
  if (interrupted_) return *interrupted_;
  if (!account_->spend(bytes)) return too_much();
  const uint64_t next = std::min(deadline_, turn_check_monotonic_nano_);
  if (next == UINT64_MAX) return {};
  const uint64_t now = now_monotonic_nano();
  if (now > deadline_) {
    return Error{ErrorCode::kDeadline, "the query passed its deadline; narrow its time range or allow more time"};
  }
  return now > turn_check_monotonic_nano_ ? end_of_turn(now) : Result<>();
}

void QueryBudget::begin_turn(uint64_t cpu_nano, EndOfTurn at_end) {
  const uint64_t now = now_monotonic_nano();
  turn_check_monotonic_nano_ = now + cpu_nano;
  turn_end_monotonic_nano_ = now + kLongestTurns * cpu_nano;
  turn_end_cpu_nano_ = thread_cpu_nano() + cpu_nano;
  at_end_of_turn_ = std::move(at_end);
}

void QueryBudget::end_turn() {
  turn_check_monotonic_nano_ = UINT64_MAX;
  at_end_of_turn_ = nullptr;
}

// The processor time is read only when enough time has passed for the turn to be over: reading it is a system call.
Result<> QueryBudget::end_of_turn(uint64_t now_monotonic_nano) {
  const uint64_t used_to = thread_cpu_nano();
  if (used_to < turn_end_cpu_nano_ && now_monotonic_nano < turn_end_monotonic_nano_) {
    turn_check_monotonic_nano_ = now_monotonic_nano + (turn_end_cpu_nano_ - used_to);
    return {};
  }
  const EndOfTurn ask = std::exchange(at_end_of_turn_, nullptr);
  end_turn();
  Result<> may_go_on = ask();
  if (!may_go_on) interrupted_ = may_go_on.error();
  return may_go_on;
}

void QueryBudget::restart() {
  interrupted_.reset();
  account_->forget_spent();
}

}  // namespace fathom::store

// A budget of bytes that many requests share, and the reservations that come out of it.
//
// Purpose: memory is taken before a request is read or parsed, so that overload is refused rather than suffered.
// Thread safety: all of it. Ownership: a Reservation gives back what it holds when it dies; the budget must outlive it.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

#include "base/metrics.h"
#include "base/settable.h"

namespace fathom {

class ByteBudget;

class Reservation {
 public:
  Reservation() = default;
  Reservation(Reservation&& other) noexcept
      : budget_(std::exchange(other.budget_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  Reservation& operator=(Reservation&& other) noexcept {
    release();
    budget_ = std::exchange(other.budget_, nullptr);
    bytes_ = std::exchange(other.bytes_, 0);
    return *this;
  }
  ~Reservation() { release(); }

  // Takes more; false, and nothing taken, when the budget has no room.
  [[nodiscard]] bool grow(uint64_t bytes);
  void release();
  uint64_t bytes() const { return bytes_; }

 private:
  friend class ByteBudget;
  ByteBudget* budget_ = nullptr;
  uint64_t bytes_ = 0;
};

class ByteBudget {
 public:
  // `used`, when given, always shows what is taken; budgets may share one.
  explicit ByteBudget(uint64_t limit, Gauge* used = nullptr) : limit_(limit), shown_(used) {}

  // A reservation that can grow; it holds nothing yet.
  Reservation open() {
    Reservation reservation;
    reservation.budget_ = this;
    return reservation;
  }
  uint64_t used() const { return used_.load(std::memory_order_relaxed); }
  uint64_t limit() const { return limit_; }
  // For what is taken from now on: nobody gives back what they hold for a smaller one.
  void set_limit(uint64_t limit) { limit_ = limit; }

 private:
  friend class Reservation;
  bool take(uint64_t bytes) {
    uint64_t before = used_.fetch_add(bytes, std::memory_order_relaxed);
    if (before + bytes <= limit_) return show(static_cast<int64_t>(bytes)), true;
    used_.fetch_sub(bytes, std::memory_order_relaxed);
    return false;
  }
  void give(uint64_t bytes) {
    used_.fetch_sub(bytes, std::memory_order_relaxed);
    show(-static_cast<int64_t>(bytes));
  }
  void show(int64_t change) {
    if (shown_ != nullptr) shown_->add(change);
  }

  Settable<uint64_t> limit_;
  Gauge* const shown_;
  std::atomic<uint64_t> used_{0};
};

inline bool Reservation::grow(uint64_t bytes) {
  if (budget_ == nullptr || !budget_->take(bytes)) return false;
  bytes_ += bytes;
  return true;
}

inline void Reservation::release() {
  if (budget_ != nullptr && bytes_ > 0) budget_->give(bytes_);
  bytes_ = 0;
}

}  // namespace fathom

// Settable: a number that may be set anew while others use it, such as a limit of a configuration that is read again.
//
// Thread safety: all of it; whoever reads sees the old value or the new one, and soon the new one. A plain value
// otherwise: it converts from and to its number.
#pragma once

#include <atomic>
#include <concepts>

namespace fathom {

template <std::integral T>
class Settable {
 public:
  Settable(T value = 0) : value_(value) {}
  Settable(const Settable& other) : value_(T(other)) {}
  Settable& operator=(const Settable& other) { return *this = T(other); }
  Settable& operator=(T value) {
    value_.store(value, std::memory_order_relaxed);
    return *this;
  }
  operator T() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<T> value_;
};

}  // namespace fathom

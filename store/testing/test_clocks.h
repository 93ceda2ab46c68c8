// TestClocks: the clocks of a host whose wall clock a test steps, and whose boots it makes.
//
// Purpose: the input of the age clock in tests. Thread safety: read() from any thread; the rest from the test's own.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "store/clock/clock_reading.h"

namespace fathom::store::testing {

class TestClocks {
 public:
  explicit TestClocks(uint64_t wall_unix_nano) : wall_(wall_unix_nano) {}

  ClockReading read() const {
    ++readings_;
    return {"boot-" + std::to_string(boot_.load()), boottime_.load(), wall_.load()};
  }
  // How often the clocks were read, to wait for threads that read them regularly.
  uint64_t readings() const { return readings_; }
  ReadClocks reader() {
    return [this] { return read(); };
  }

  // Time passes, whether the host is suspended or not.
  void advance(uint64_t nano) {
    boottime_ += nano;
    wall_ += nano;
  }
  void step(int64_t nano) { wall_ += static_cast<uint64_t>(nano); }
  void set_wall(uint64_t unix_nano) { wall_ = unix_nano; }
  // The host is off for so long, then boots.
  void reboot(uint64_t off_nano, uint64_t boottime_nano = 20'000'000'000) {
    ++boot_;
    boottime_ = boottime_nano;
    wall_ += off_nano;
  }
  uint64_t wall_unix_nano() const { return wall_; }

 private:
  std::atomic<uint64_t> boot_{1};
  std::atomic<uint64_t> boottime_{1'000'000'000'000};
  std::atomic<uint64_t> wall_;
  mutable std::atomic<uint64_t> readings_{0};
};

}  // namespace fathom::store::testing

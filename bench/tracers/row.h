// Row: one line of the survey's table, a loop of one event with a payload of 4 bytes.
//
// Purpose: the same loops around every tracer, so that what differs is the tracer. Thread safety: start_thread() and
// everything after it from several threads at once; the rest from one. Ownership: a row owns its buffers. Errors:
// fault() says why what was measured is not what the row's name says. Source: the survey's Algorithm 1 (Gebai and
// Dagenais, ACM Computing Surveys 51(2), 2018).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bench/ticks.h"

namespace fathom::bench::tracers {

// One event, timed alone.
struct TimedCall {
  uint32_t ticks;
  bool switched;  // it went over into another buffer, as far as the row can tell
};

class Row {
 public:
  virtual ~Row() = default;
  virtual void start_thread() {}               // once on each thread that will write
  virtual uint32_t calls_to_fill() const = 0;  // by one thread, until each of its buffers was filled once
  virtual void run(uint32_t count) = 0;        // the tight loop
  virtual void time_each(TimedCall* out, uint32_t count) = 0;
  virtual void give_back() {}  // between loops, for tracers that refuse when they are full
  virtual bool tells_switches() const { return false; }
  virtual std::string fault() const { return ""; }
};

struct RowEntry {
  std::string_view name;
  std::unique_ptr<Row> (*make)();
};

template <typename T>
std::unique_ptr<Row> make_row() {
  return std::make_unique<T>();
}

#define FATHOM_BENCH_INLINE inline __attribute__((always_inline))

inline uint64_t no_place() {
  return 0;
}

// The loops around `kEvent`. Nothing is carried in registers from one event to the next: the code around an event in a
// real program leaves none. `kPlace` names the buffer that the calling thread writes to.
template <void (*kEvent)(int32_t), uint32_t kCallsToFill, uint64_t (*kPlace)() = no_place>
class LoopRow : public Row {
 public:
  uint32_t calls_to_fill() const override { return kCallsToFill; }
  bool tells_switches() const override { return kPlace != no_place; }

  void run(uint32_t count) override {
    for (uint32_t i = 0; i < count; ++i) {
      kEvent(static_cast<int32_t>(i));
      asm volatile("" ::: "memory");
    }
  }

  void time_each(TimedCall* out, uint32_t count) override {
    for (uint32_t i = 0; i < count; ++i) {
      const uint64_t place = kPlace();
      const uint64_t begin = ticks();
      asm volatile("" ::: "memory");
      kEvent(static_cast<int32_t>(i));
      asm volatile("" ::: "memory");
      out[i].ticks = static_cast<uint32_t>(ticks() - begin);
      out[i].switched = kPlace() != place;
    }
  }
};

}  // namespace fathom::bench::tracers

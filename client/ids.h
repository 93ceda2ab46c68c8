// Trace and span ids: random, never zero, a few nanoseconds each.
//
// Purpose: numbers that no other thread or process makes, and that one cannot guess from having seen another without
// effort; they are no secrets. A counter, whose one addition a signal handler cannot tear, goes through a mixing
// function that is one-to-one and keyed by what the kernel's generator gave to this thread: so a thread never repeats a
// span id. Thread safety: one IdSource per thread, signal handlers included. Source of the idea: Even and Mansour's
// cipher, with the finaliser of splitmix64 as permutation.
#pragma once

#include "client/platform.h"

namespace fathom::client {

class IdSource {
 public:
  struct Seed {
    uint64_t words[4];
  };
  void seed(const Seed& seed) {
    counter_.store(seed.words[0], std::memory_order_relaxed);
    for (int i = 0; i < 3; i++) keys_[i] = seed.words[i + 1];
  }
  // Of a span in a trace that there is.
  uint64_t next() {
    for (;;) {
      const uint64_t id = mix(own_add(counter_, kStep), keys_[0]);
      if (likely(id != 0)) return id;
    }
  }
  // Of the root of a new trace: its own, and the trace's 16 bytes. The right half is as random as a span's id, by
  // another key (or it could be one); the left one follows from it, by a third, so that no other thread makes the same
  // pair.
  uint64_t next_root(uint64_t trace[2]) {
    for (;;) {
      const uint64_t value = own_add(counter_, 2 * kStep);
      const uint64_t id = mix(value, keys_[0]);
      trace[1] = mix(value + kStep, keys_[1]);
      trace[0] = (trace[1] ^ keys_[2]) * kFactor;
      trace[0] ^= trace[0] >> 32;
      if (likely(id != 0 && trace[1] != 0)) return id;
    }
  }

 private:
  static constexpr uint64_t kStep = 0x9e3779b97f4a7c15;
  static constexpr uint64_t kFactor = 0xbf58476d1ce4e5b9;

  static uint64_t mix(uint64_t value, uint64_t key) {
    value = (value ^ key ^ (value >> 30)) * kFactor;
    value = (value ^ key ^ (value >> 27)) * 0x94d049bb133111eb;
    return value ^ (value >> 31) ^ key;
  }

  std::atomic<uint64_t> counter_{0};
  uint64_t keys_[3] = {};
};

}  // namespace fathom::client

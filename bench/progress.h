// One line on stderr while long work goes on: rewritten twice a second on a terminal, added every ten seconds
// elsewhere. Thread safety: one thread.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <string>

#include "base/time.h"

namespace fathom::bench {

class Progress {
 public:
  Progress(std::string what, uint64_t total) : what_(std::move(what)), total_(total) {}
  ~Progress() {
    if (shown_ && terminal_) std::fputc('\n', stderr);
  }
  void at(uint64_t done) {
    uint64_t now = now_monotonic_nano();
    if (now - last_nano_ < (terminal_ ? kNanosPerSecond / 2 : 10 * kNanosPerSecond)) return;
    last_nano_ = now;
    shown_ = true;
    double seconds = static_cast<double>(now - begin_nano_) / 1e9;
    std::fprintf(stderr, "%s%s: %llu of %llu, %.0f s%s", terminal_ ? "\r" : "", what_.c_str(),
                 static_cast<unsigned long long>(done), static_cast<unsigned long long>(total_), seconds,
                 terminal_ ? "   " : "\n");
  }

 private:
  std::string what_;
  uint64_t total_;
  uint64_t begin_nano_ = now_monotonic_nano();
  uint64_t last_nano_ = begin_nano_;
  bool terminal_ = ::isatty(2) != 0;
  bool shown_ = false;
};

}  // namespace fathom::bench

// StepProgress: how far the stepping has come, for a person who waits at a terminal.
//
// Purpose: a program that is stepped is silent for minutes. Nothing is said in the first second; then one line, written
// over once a second, and taken away before anything else is said. Thread safety: one thread. Errors: none.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

namespace fathom {

class StepProgress {
 public:
  // `tell` writes to the terminal; empty: there is none.
  StepProgress(uint64_t most_steps, std::function<void(std::string_view)> tell, std::function<uint64_t()> now_nano);

  // One instruction more; `where`: for people, in a part of the program that they may not expect; empty: its own.
  void step(std::string_view where = {}) {
    if ((++steps_ & kSeldom) == 0 && tell_) look(where);
  }
  void clear();

 private:
  static constexpr uint64_t kSeldom = 255;  // a clock is not read for each
  void look(std::string_view where);

  const uint64_t most_steps_;
  const std::function<void(std::string_view)> tell_;
  const std::function<uint64_t()> now_nano_;
  uint64_t told_nano_;
  uint64_t steps_ = 0;
  bool shown_ = false;
};

}  // namespace fathom

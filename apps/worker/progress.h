// ProgressLine: how far a long question or import has come, for a person who waits at a terminal.
//
// Purpose: nothing in the first second, so that what is short stays silent; then one line, written over once a second,
// and taken away before anything else is said. Thread safety: one thread at a time. Errors: none.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

namespace fathom {

class ProgressLine {
 public:
  // `tell` writes to the terminal; empty: there is none.
  ProgressLine(std::function<void(std::string_view)> tell, std::function<uint64_t()> now_nano);

  // "decoded", "copied".
  void at(std::string_view what, uint64_t done_bytes, uint64_t all_bytes);
  void clear();

 private:
  const std::function<void(std::string_view)> tell_;
  const std::function<uint64_t()> now_nano_;
  uint64_t told_nano_;
  bool shown_ = false;
};

}  // namespace fathom

// Repeat: what a line of a wait or of a system call has in common with others, and what they add up to.
//
// Thread safety: a plain value.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cli/wait_text.h"

namespace fathom::cli {

struct Repeat {
  std::string head;               // of a call: "read(7, 4096)"; empty: a wait
  std::string result;             // of a call: " = 12"; empty where several returned different values
  std::string error;              // "EAGAIN"
  std::optional<WaitWords> wait;  // of a call: the most expensive one within it
  WaitTotals lasted;
  WaitTotals waited;          // of a call: `wait`
  uint64_t unknown_nano = 0;  // of a call: whether it slept

  bool is_like(const Repeat& other) const {
    return head == other.head && error == other.error && wait == other.wait &&
           (unknown_nano == 0) == (other.unknown_nano == 0);
  }
  void add(const Repeat& more);
  std::string text() const;  // of several
};

}  // namespace fathom::cli

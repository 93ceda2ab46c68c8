// Repeat: what lines of equal waits or system calls have in common, and their totals.
//
// Thread safety: a plain value.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cli/wait_text.h"

namespace fathom::cli {

struct Repeat {
  std::string head;               // of a call: "read(7, 4096)"; of a wait: empty
  std::string result;             // of a call: " = 12"; empty if the calls returned different values
  std::string error;              // "EAGAIN"
  std::optional<WaitWords> wait;  // of a call: its most expensive kind of wait
  WaitTotals lasted;
  WaitTotals waited;          // of a call: time in `wait`
  uint64_t unknown_nano = 0;  // of a call: time for which it is unknown whether it slept

  bool is_like(const Repeat& other) const {
    return head == other.head && error == other.error && wait == other.wait &&
           (unknown_nano == 0) == (other.unknown_nano == 0);
  }
  void add(const Repeat& more);
  std::string text() const;  // the text of a line for several
};

}  // namespace fathom::cli

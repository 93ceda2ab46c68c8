// Texts of a thread's waits: of one wait, or of the totals of equal waits.
//
// Purpose: one wording for lines of waits, system calls and spans. All names have passed printable(). Thread safety:
// pure functions.
#pragma once

#include <boost/json.hpp>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fathom::cli {

struct WaitTotals {
  uint64_t count = 0;
  uint64_t total_nano = 0;
  uint64_t longest_nano = 0;
  uint64_t guessed_nano = 0;  // part of total_nano

  void add(const WaitTotals& more);
};
// Totals of one state of a thread, or of an entry in the server's "waits".
WaitTotals totals_of_wait(const boost::json::value& state);
WaitTotals totals_of_sum(const boost::json::value& sum);

// What equal waits have in common. All texts have passed printable().
struct WaitWords {
  std::string state;   // "sleeping", as the server names it
  std::string place;   // " in futex"; empty: unknown
  std::string reason;  // ", woken by flush-7 (4719)"
  bool operator==(const WaitWords&) const = default;
};
// `wait`: a state, or an entry of "waits". `name_of_interrupted`: add the name of the thread that an interrupt stopped.
WaitWords wait_words(const boost::json::value& wait, bool name_of_interrupted = false);

// "sleeping 780 ms in futex, woken by flush-7 (4719)"; for several: "sleeping 518 ms in clock_nanosleep, 83 times
// (longest 6.27 ms), woken by an interrupt".
std::string wait_text(const WaitWords& words, const WaitTotals& totals);
std::string wait_text(const boost::json::value& state);

// The most expensive kinds of waits of a span, a thread or a system call: at most three, until they have nine tenths
// of the time, then the number of the others. Without sums (an old server, or too many waits): the longest wait.
// Empty: there was no wait.
std::vector<std::string> most_waits(const boost::json::value& object);
// The same as lines to print below the object: "waits: sleeping 780 ms in futex, ...".
std::vector<std::string> wait_lines(const boost::json::value& object);

// The server calls a sleep "blocked" if its beginning was not recorded, so it may also be uninterruptible: "sleeping or
// waiting". Other states are returned unchanged.
std::string_view state_text(std::string_view state);
// " (guessed)", " (3 ms of it guessed)"; of a "blocked" state " (beginning not seen)"; empty: nothing was guessed.
std::string guessed_text(std::string_view state, uint64_t guessed_nano, uint64_t nano);

}  // namespace fathom::cli

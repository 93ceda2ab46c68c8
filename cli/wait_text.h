// Waits of threads as text: one, or what several that are alike add up to.
//
// Purpose: lines of waits, of system calls and of spans say it in the same words. Names have gone through printable().
// Thread safety: pure functions.
#pragma once

#include <boost/json.hpp>
#include <cstdint>
#include <string>
#include <vector>

namespace fathom::cli {

struct WaitTotals {
  uint64_t count = 0;
  uint64_t total_nano = 0;
  uint64_t longest_nano = 0;
  uint64_t guessed_nano = 0;  // of the total

  void add(const WaitTotals& more);
};
// Of one state of a thread, and of a sum of the server's.
WaitTotals totals_of_wait(const boost::json::value& state);
WaitTotals totals_of_sum(const boost::json::value& sum);

// What waits that are alike have in common. Has gone through printable().
struct WaitWords {
  std::string state;   // "sleeping"
  std::string place;   // " in futex"; empty: not known
  std::string reason;  // ", woken by flush-7 (4719)"
  bool operator==(const WaitWords&) const = default;
};
// `wait`: a state, or a sum of the server's. Who ran when an interrupt came is left out unless it is asked for.
WaitWords wait_words(const boost::json::value& wait, bool name_of_interrupted = false);

// "sleeping 780 ms in futex, woken by flush-7 (4719)"; of several: "sleeping 518 ms in clock_nanosleep, 83 times
// (longest 6.27 ms), woken by an interrupt".
std::string wait_text(const WaitWords& words, const WaitTotals& totals);
std::string wait_text(const boost::json::value& state);

// What most of the waits of a span, a thread or a system call were: the most expensive kinds that make up nine tenths
// of the time, three at most, and then how many more there are. From a server that does not add up waits, or where
// these are too many: the longest one. Empty: there was none.
std::vector<std::string> most_waits(const boost::json::value& object);
// The same as lines that stand below what it is about: "waits: sleeping 780 ms in futex, ...".
std::vector<std::string> wait_lines(const boost::json::value& object);

// " (guessed)", " (3 ms of it guessed)"; empty: nothing was guessed.
std::string guessed_text(uint64_t guessed_nano, uint64_t nano);

}  // namespace fathom::cli

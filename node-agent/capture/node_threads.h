// NodeThreads: the node's numbers of a process's threads.
//
// Purpose: a program in its own pid namespace has other thread ids than the node. If the program's own process id
// equals the node's, nothing is looked up. Thread safety: none; one owner. Errors: a thread that was never listed has
// no number: it ended before a look, or /proc cannot be read. Bounds: kMostThreads living threads, and kMostEnded ended
// ones for kEndedNano. A look lists at most kMostListed of the process's threads, resumes where the previous look
// stopped, and reads one file for each new thread. Units: nanoseconds of the monotonic clock.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>

#include "base/time.h"

namespace fathom::agent {

class NodeThreads {
 public:
  static constexpr size_t kMostThreads = 16 * 1024;
  static constexpr size_t kMostEnded = 4 * 1024;
  static constexpr size_t kMostListed = 2 * 1024;
  static constexpr uint64_t kEndedNano = 60 * kNanosPerSecond;
  // How long a complete listing is trusted. The kernel reuses a number after all others of the namespace, by default at
  // least 32,768. To reuse one within this time, a program must start 6,500 threads a second.
  static constexpr uint64_t kTrustedNano = 5 * kNanosPerSecond;

  // `pid`: as the node sees it; `own_pid`: as the process sees itself. `proc`, for tests: where /proc is.
  NodeThreads(pid_t pid, uint32_t own_pid, const std::string& proc = "/proc");

  // `program_tid`: as the program sees it. If several threads had the number: the living one, else the last to end.
  std::optional<uint32_t> find(uint32_t program_tid) const;
  // Whether find() has no result, or one that may be out of date. False if the program has the node's numbers.
  bool needs_look(uint32_t program_tid, uint64_t now_nano) const;
  // Whether the program's numbers may differ from the node's.
  bool translates() const { return !has_same_numbers_; }
  // Stops early when `may_go_on`, called after each entry, returns false.
  void look(uint64_t now_nano, const std::function<bool()>& may_go_on, size_t most_listed = kMostListed);
  // Lists up to kMostThreads entries, without a limit of time.
  void look_at_all() {
    look(
        0, [] { return true; }, kMostThreads);
  }
  // Forgets threads that ended more than kEndedNano ago.
  void forget_ended(uint64_t now_nano);

 private:
  struct Thread {
    uint32_t program_tid = 0;
    uint64_t inode = 0;  // of its directory: if it changes, another thread has the number
    uint64_t pass = 0;   // the last pass that listed it
  };
  struct Ended {
    uint32_t program_tid = 0;
    uint32_t node_tid = 0;
    uint64_t ended_nano = 0;
  };

  class Listing;
  void list(Listing& listing, uint64_t now_nano, const std::function<bool()>& may_go_on, size_t most_listed);
  void listed(uint32_t node_tid, uint64_t inode, uint64_t now_nano);
  void add(uint32_t node_tid, uint64_t inode);
  void end_pass(uint64_t now_nano);
  void note_end(uint32_t node_tid, const Thread& thread, uint64_t now_nano);
  void forget_first_ended();

  const std::string tasks_;
  const bool has_same_numbers_;
  std::unordered_map<uint32_t, Thread> living_;        // by the node's number
  std::unordered_map<uint32_t, uint32_t> node_tids_;   // of living threads, by the program's number
  std::deque<Ended> ended_;                            // in the order in which they ended
  std::unordered_map<uint32_t, uint32_t> ended_tids_;  // of ended threads, likewise
  uint64_t pass_ = 0;
  long position_ = 0;  // in the directory, where the next look resumes; 0: a new pass begins
  uint64_t pass_began_nano_ = 0;
  std::optional<uint64_t> known_nano_;  // when the last complete pass began
};

// The number of a process or thread in its innermost pid namespace, from its `status` file; 0: the file has no such
// number, or cannot be read.
uint32_t innermost_number(const std::string& status_path);

}  // namespace fathom::agent

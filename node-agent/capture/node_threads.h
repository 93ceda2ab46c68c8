// NodeThreads: the node's numbers of a process's threads.
//
// Purpose: a program in a pid namespace of its own has other numbers for its threads than the node. Of a program whose
// own process id is the node's nothing is looked up. Thread safety: none; one owner. Errors: a thread that was never
// listed has no number: it ended before that, or /proc may not be read. Bounds: kMostThreads that live, and
// kMostEnded that ended, for kEndedNano. A look lists kMostListed entries of the process's threads, from where the one
// before it stopped, and reads a file for each thread that is new. Units: nanoseconds of the monotonic clock.
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
  // A program uses the number of a thread that was listed again when it has used all others of its namespace, which are
  // 32,768 at least: within this time, if it begins 6,500 threads a second.
  static constexpr uint64_t kTrustedNano = 5 * kNanosPerSecond;

  // `pid`: as the node sees it; `own_pid`: as the process sees itself. `proc`, for tests: where /proc is.
  NodeThreads(pid_t pid, uint32_t own_pid, const std::string& proc = "/proc");

  // `program_tid`: as the program sees it. Of threads with the same number the one that lives, or ended last.
  std::optional<uint32_t> find(uint32_t program_tid) const;
  // Whether find() has no answer, or one that may be out of date. Never where the node's numbers are the program's.
  bool needs_look(uint32_t program_tid, uint64_t now_nano) const;
  // Ends early where `may_go_on`, asked after each entry, says no.
  void look(uint64_t now_nano, const std::function<bool()>& may_go_on, size_t most_listed = kMostListed);
  // At kMostThreads at most, however long it takes.
  void look_at_all() {
    look(
        0, [] { return true; }, kMostThreads);
  }
  // Those that ended long ago.
  void forget_ended(uint64_t now_nano);

 private:
  struct Thread {
    uint32_t program_tid = 0;
    uint64_t inode = 0;  // of its directory: another one has the number when this changes
    uint64_t pass = 0;   // that listed it last
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
  std::unordered_map<uint32_t, uint32_t> node_tids_;   // of those, by the program's
  std::deque<Ended> ended_;                            // the first to end is the first
  std::unordered_map<uint32_t, uint32_t> ended_tids_;  // as node_tids_
  uint64_t pass_ = 0;
  long position_ = 0;  // in the directory, where the next look goes on; 0: a pass begins
  uint64_t pass_began_nano_ = 0;
  std::optional<uint64_t> known_nano_;  // when the last complete pass began
};

// The number that a process or thread has in the innermost of its pid namespaces, from the text of its `status` file;
// 0: not known.
uint32_t innermost_number(const std::string& status_path);

}  // namespace fathom::agent

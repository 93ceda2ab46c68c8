// ProcessOwners: the user of each process of a node, and since when that user is certain.
//
// Purpose: a snapshot of one user's programs (one_user.h) needs the user of every process in all of its window. perf
// reports forks and executed programs, but no change of credentials. So /proc is read when a process begins, executes a
// program or is renamed, when a snapshot is cut, and of all processes in turn. A process belongs to a user if its real,
// effective, saved and file-system user ids are that user's, and /proc/PID too: then it is no program with set-user-ID
// or set-group-ID, and the user could trace it without us. Whatever cannot be read is unknown. Thread safety: one
// thread. Ownership: the PerfSystem must outlive it. Errors: none. Units: ticks of the time-stamp counter.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "snapshot/format/snapshot.h"
#include "snapshot/record/pt/perf_system.h"

namespace fathom::snapshot {

struct ProcessOwner {
  enum class Kind : uint8_t {
    kUnknown,
    kUser,
    kKernel,  // a kernel thread or an idle processor: it runs no user code
  };
  Kind kind = Kind::kUnknown;
  uint32_t uid = 0;  // of kUser

  bool operator==(const ProcessOwner&) const = default;
};

// The owner of a process as /proc has it now, and of all its threads if `every_thread`; nothing if it has ended.
std::optional<ProcessOwner> read_owner(const PerfSystem& system, int32_t pid, bool every_thread);

class ProcessOwners {
 public:
  explicit ProcessOwners(PerfSystem& system);

  // A process that existed before recording began.
  void scan(int32_t pid);
  // A row of the history, in any order until apply_noted().
  void note(const Sideband& row);
  // After all rows that there are: reads the processes that began, executed a program or were renamed.
  void apply_noted();
  // Some of the others, so that each has its turn.
  void read_in_turn();
  // Before a snapshot describes them: each, with all threads.
  void read_again(const std::set<int32_t>& pids);
  // Forgets ended processes that began before the horizon.
  void forget(uint64_t horizon_tsc, const std::function<bool(int32_t)>& is_known);

  // The owner in all of the time since `since_tsc`; unknown if it changed.
  ProcessOwner owner(int32_t pid, uint64_t since_tsc) const;

  static constexpr size_t kMostInTurn = 256;

 private:
  struct Entry {
    ProcessOwner owner;
    uint64_t changed_tsc = 0;  // `owner` is certain from then on
    uint64_t seen_tsc = 0;     // of the last row
    uint64_t read_tsc = 0;     // by then /proc had it
  };

  void apply(const Sideband& row);
  void fork(const Sideband& row);
  bool is_unread(int32_t pid) const;
  ProcessOwner owner_when_forked(int32_t parent, uint64_t tsc);
  void read(int32_t pid, bool every_thread);
  static void observe(Entry& entry, const ProcessOwner& owner, uint64_t tsc);
  bool is_ambiguous(const ProcessOwner& owner) const;

  PerfSystem& system_;
  bool sees_all_processes_;  // process 0 is an idle processor, and not a process of another namespace
  bool sees_all_users_;      // user 65534 is one user, and not all those that a user namespace does not map
  std::map<int32_t, Entry> entries_;
  std::vector<Sideband> noted_;
  std::set<int32_t> changed_;
  uint64_t lost_tsc_ = 0;  // rows are missing before
  int32_t last_in_turn_ = -1;
};

}  // namespace fathom::snapshot

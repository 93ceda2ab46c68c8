// ProcessId: a process that cannot be mistaken for a later one of the same number.
//
// Thread safety: pure reads of /proc. Errors: a look that fails says so: it is no proof that the process is gone.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace fathom::agent {

struct ProcessId {
  pid_t pid = 0;  // 0: unknown
  uint64_t started_ticks = 0;

  bool known() const { return pid > 0; }
  bool operator==(const ProcessId&) const = default;
};

// Of a living process that we can see; unknown otherwise.
ProcessId identify_process(pid_t pid);

enum class Life {
  kAlive,
  kGone,     // or a zombie, or replaced by another of its number
  kUnknown,  // this look failed, for want of descriptors or memory: look again
};
Life life_of(const ProcessId& process);

// Whether a file of this inode is mapped by the process; nothing when we may not know, or when it maps so much that
// looking would take too long. Can wait for as long as that process likes: not on the loop (map_reader.h).
std::optional<bool> maps_inode(pid_t pid, uint64_t inode);

// What the text of /proc/PID/stat says of a process.
struct ProcessStat {
  char state;
  uint64_t threads;
  uint64_t started_ticks;

  // A zombie with threads is a process whose first thread has ended: the others go on.
  bool runs() const { return state != 'X' && (state != 'Z' || threads > 1); }
};
std::optional<ProcessStat> parse_process_stat(std::string_view text);

}  // namespace fathom::agent

// Attempts: what an attacker who controls a decoder would try, one function each.
//
// Purpose: worker_escape runs each attempt in a process that is confined as fathom-worker is, and in one that is not.
// Thread safety: one attempt per process. Errors: an attempt returns 0 if it succeeded, which for a confined process is
// an escape, or else the system's error number. An attempt that runs another program does not return.
#pragma once

#include <sys/types.h>

#include <cerrno>
#include <span>
#include <string>

namespace fathom::escape {

inline constexpr int kInheritedDescriptor = 20;  // of the secret file, from before the confinement

// What there is to attack: all of the user that the attempt runs as.
struct Target {
  pid_t server = 0;              // the parent process
  const char* memory = nullptr;  // an address in it
  std::string secret;            // a file outside of the snapshots' directory
  std::string directory;         // of snapshots
  std::string own_snapshot;      // the one that the task is about
  std::string other_snapshot;
};

struct Attempt {
  const char* name;
  int (*run)(const Target& target);
  bool is_work = false;  // no attack: a decoder needs it, and it must succeed
};

std::span<const Attempt> file_attempts();
std::span<const Attempt> process_attempts();
std::span<const Attempt> kernel_attempts();
std::span<const Attempt> work_attempts();

inline int outcome(long result) {
  return result >= 0 ? 0 : errno;
}

// For calls that cannot succeed with harmless arguments: the kernel looked at them.
inline int reached(long result) {
  if (result >= 0) return 0;
  return errno == EPERM || errno == EACCES || errno == ENOSYS ? errno : 0;
}

}  // namespace fathom::escape

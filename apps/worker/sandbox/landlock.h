// restrict_paths(): which files this process may still use, by Landlock.
//
// Purpose: every right over files that the kernel's version of Landlock knows is taken away, and given back for some
// paths. From version 4 (Linux 6.7) on no TCP port can be bound or connected to; from version 6 (Linux 6.12) on neither
// abstract unix sockets nor signals of other processes are reachable. Version 2 (Linux 5.19) is the least: version 1
// lets nobody rename a file to another directory, which is how files get their names here. Reading the status of files,
// their names included, is no right of Landlock's. Thread safety: restricts the calling thread and threads that it
// starts later. Errors: kUnsupported, with the system's words; then nothing is restricted. A path that is not there
// gives no right and is no error.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace fathom {

inline constexpr int kLeastLandlockVersion = 2;
inline constexpr int kLandlockVersionWithTruncation = 3;  // earlier ones let who may read a file empty it

// Rights over a file, or over everything below a directory.
enum PathRight : uint32_t {
  kReadFiles = 1,
  kListFiles = 2,
  kWriteFiles = 4,
  kCreateFiles = 8,  // regular ones, also by renaming
  kRemoveFiles = 16,
};

struct AllowedPath {
  std::string path;
  uint32_t rights = 0;  // of PathRight; of a file only kReadFiles and kWriteFiles count
};

// Of this kernel's Landlock; 0: it has none, or is refused it, and errno says why.
int landlock_version();

// After give_up_new_privileges().
Result<> restrict_paths(const std::vector<AllowedPath>& paths);

}  // namespace fathom

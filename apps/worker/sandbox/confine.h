// confine(): takes from this process what a decoder of hostile bytes does not need.
//
// Purpose: a decoder that an attacker controls can use the memory and the processor that it has, read and write the
// paths that it was given, write to its standard output and error, and end. docs/security.md lists what is enforced.
// Enforced always: a list of allowed system calls (system_calls.h), Landlock (landlock.h), no new privileges, no
// capability but CAP_DAC_OVERRIDE, no descriptor but the first three and the opener's. Where the host allows it: empty
// network and IPC namespaces (privileges.h). Thread safety: before any other thread. Ownership: closes every other
// descriptor of the process. Errors: each part that could not be enforced, with its reason and the fix; the others are
// enforced all the same. The caller must end when there are any, unless a person accepted that.
#pragma once

#include <cstdint>
#include <vector>

#include "apps/worker/sandbox/landlock.h"
#include "base/result.h"

namespace fathom {

struct Confinement {
  std::vector<AllowedPath> paths;
  bool has_opener = false;       // a FileOpener was started
  bool reads_sources = false;    // files below paths are opened by openat2, where Landlock prevents truncation
  uint64_t most_file_bytes = 0;  // of each file that is written; 0: no limit
};

std::vector<Error> confine(const Confinement& confinement);

}  // namespace fathom

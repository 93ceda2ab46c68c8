// install_filter(): has the kernel judge every further system call of this process by a policy.
//
// Purpose: what a process has given up it cannot take back; threads and children inherit the filter. Thread safety: all
// threads get the filter at once (SECCOMP_FILTER_FLAG_TSYNC). Errors: kUnsupported, with the system's words; then no
// filter is installed.
#pragma once

#include "apps/worker/sandbox/bpf_program.h"
#include "base/result.h"

namespace fathom {

// Must precede install_filter() and restrict_paths(): no program that this process starts gains privileges.
Result<> give_up_new_privileges();
Result<> install_filter(const CallPolicy& policy);

}  // namespace fathom

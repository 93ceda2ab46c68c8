// The system calls of a decoder, and of the process that opens files for it.
//
// Purpose: an allow-list. A call that only an attack makes (other programs and processes, network, namespaces,
// privileges, kernel interfaces) ends the process with SIGSYS, and so does a call of another ABI. Every other call that
// is not listed fails with EPERM: the C library has fallbacks for these. Thread safety: pure functions. Errors: none.
#pragma once

#include <sys/types.h>

#include "apps/worker/sandbox/bpf_program.h"

namespace fathom {

struct WorkerCalls {
  pid_t own_pid = 0;
  int opener = -1;                  // the socket to a FileOpener; -1: none
  bool is_openat2_allowed = false;  // for lines of source; its flags cannot be judged by a filter
};

CallPolicy worker_calls(const WorkerCalls& options);

// `socket`: where requests come from.
CallPolicy opener_calls(int socket);

}  // namespace fathom

// Names of system calls and of errors: base/syscall_names.h, by the names that this folder uses.
#pragma once

#include <string>

#include "base/syscall_names.h"
#include "capture/capture.h"

namespace fathom::query {

using fathom::error_name;
using fathom::futex_operation_name;
using fathom::syscall_name;

// The operation of futex(), from its second argument: "FUTEX_WAIT_PRIVATE". Empty: another call, or unknown.
std::string call_operation(const capture::KernelEvent& call);

}  // namespace fathom::query

// Names of system calls and of errors: base/syscall_names.h, by the names that this folder uses.
#pragma once

#include "base/syscall_names.h"

namespace fathom::query {

using fathom::error_name;
using fathom::syscall_name;

}  // namespace fathom::query

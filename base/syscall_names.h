// Names of system calls and of errors.
//
// Purpose: captures have numbers. Those of system calls are taken to be of the architecture that this was built for,
// from the kernel's own header (base/CMakeLists.txt); younger calls have the same number on all architectures. Thread
// safety: pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace fathom {

std::string_view syscall_name(int32_t number);  // empty: not known
// Of a result of a system call: "EAGAIN"; empty when it is no error.
std::string error_name(int64_t result);
// Decodes the second argument of futex(): "FUTEX_WAIT_BITSET_PRIVATE|FUTEX_CLOCK_REALTIME"; empty: unknown.
std::string futex_operation_name(uint64_t operation);

}  // namespace fathom

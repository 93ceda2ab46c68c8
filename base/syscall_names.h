// Names of system calls and of errors.
//
// Purpose: captures have numbers. Those of system calls are taken to be of the architecture that this was built for,
// from the kernel's own header (base/CMakeLists.txt). Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace fathom {

std::string_view syscall_name(int32_t number);  // empty: not known
// Of a result of a system call: "EAGAIN"; empty when it is no error.
std::string error_name(int64_t result);

}  // namespace fathom

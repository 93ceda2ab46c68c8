#include "query/timeline/syscall_names.h"

namespace fathom::query {

std::string call_operation(const capture::KernelEvent& call) {
  const bool has_arguments = call.monotonic_nano != 0;
  return has_arguments && syscall_name(call.syscall) == "futex" ? futex_operation_name(call.arguments[1]) : "";
}

}  // namespace fathom::query

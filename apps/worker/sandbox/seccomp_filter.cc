#include "apps/worker/sandbox/seccomp_filter.h"

#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

namespace fathom {

Result<> give_up_new_privileges() {
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0) return {};
  return Error{ErrorCode::kUnsupported, std::string("PR_SET_NO_NEW_PRIVS: ") + std::strerror(errno)};
}

Result<> install_filter(const CallPolicy& policy) {
  std::vector<sock_filter> code = assemble(policy);
  const sock_fprog program{static_cast<unsigned short>(code.size()), code.data()};
  const long failed = ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program);
  if (failed == 0) return {};
  const std::string why = failed > 0 ? "a thread has another filter" : std::strerror(errno);
  return Error{ErrorCode::kUnsupported, "seccomp: " + why};
}

}  // namespace fathom

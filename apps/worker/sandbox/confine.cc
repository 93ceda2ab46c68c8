#include "apps/worker/sandbox/confine.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "apps/worker/sandbox/file_opener.h"
#include "apps/worker/sandbox/privileges.h"
#include "apps/worker/sandbox/sanitized.h"
#include "apps/worker/sandbox/seccomp_filter.h"
#include "apps/worker/sandbox/system_calls.h"

#ifdef FATHOM_SANITIZED
#include <sanitizer/common_interface_defs.h>
#endif

namespace fathom {

namespace {

// Reports of errors need the list of mapped files, which cannot be read later.
void prepare_sanitizer() {
#ifdef FATHOM_SANITIZED
  __sanitizer_sandbox_arguments arguments{};
  __sanitizer_sandbox_on_notify(&arguments);
#endif
}

Result<> hide_memory() {
  if (::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0) return {};
  return Error{ErrorCode::kUnsupported, std::string("PR_SET_DUMPABLE: ") + std::strerror(errno)};
}

void limit_files(uint64_t most_bytes) {
  if (most_bytes == 0) return;
  ::signal(SIGXFSZ, SIG_IGN);  // a write that is too large is an error like that of a full disk
  const rlimit limit{most_bytes, most_bytes};
  ::setrlimit(RLIMIT_FSIZE, &limit);
}

// Of a kernel whose Landlock does not prevent truncation, openat2 would allow it: a filter cannot read its flags.
bool may_use_openat2(const Confinement& confinement) {
  return confinement.reads_sources && landlock_version() >= kLandlockVersionWithTruncation;
}

class Failures {
 public:
  void add(const Result<>& done, const std::string& fix) {
    if (done) return;
    errors_.push_back({ErrorCode::kUnsupported, done.error().message + "; " + fix});
  }
  std::vector<Error> take() && { return std::move(errors_); }

 private:
  std::vector<Error> errors_;
};

constexpr const char* kLandlockFix =
    "use a kernel from 5.19 on that has Landlock enabled (CONFIG_SECURITY_LANDLOCK, lsm=landlock,...), and let the "
    "container's or service's filter of system calls allow landlock_*";
constexpr const char* kSeccompFix =
    "use a kernel with CONFIG_SECCOMP_FILTER, and let the container's or service's filter of system calls allow "
    "seccomp";
constexpr const char* kOtherFix = "let the container's or service's filter of system calls allow it";

}  // namespace

std::vector<Error> confine(const Confinement& confinement) {
  Failures failures;
  prepare_sanitizer();
  const WorkerCalls calls{.own_pid = ::getpid(),
                          .opener = confinement.has_opener ? kOpenerDescriptor : -1,
                          .is_openat2_allowed = may_use_openat2(confinement)};
  failures.add(close_descriptors(confinement.has_opener ? kOpenerDescriptor + 1 : kOpenerDescriptor), kOtherFix);
  limit_files(confinement.most_file_bytes);
  leave_namespaces();
  failures.add(drop_capabilities(), kOtherFix);
  failures.add(hide_memory(), kOtherFix);
  failures.add(give_up_new_privileges(), kOtherFix);
  failures.add(restrict_paths(confinement.paths), kLandlockFix);
  failures.add(install_filter(worker_calls(calls)), kSeccompFix);
  return std::move(failures).take();
}

}  // namespace fathom

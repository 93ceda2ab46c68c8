#include "apps/worker/sandbox/privileges.h"

#include <linux/capability.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>

namespace fathom {

namespace {

// In a user namespace of its own the limit counts this process alone. --threads allows 1024.
constexpr rlim_t kMostThreads = 1100;
constexpr uint64_t kKept = 1ULL << CAP_DAC_OVERRIDE;

struct Capabilities {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct halves[2] = {};

  bool read() { return ::syscall(SYS_capget, &header, halves) == 0; }
  bool write() { return ::syscall(SYS_capset, &header, halves) == 0; }
  uint64_t permitted() const { return halves[0].permitted | uint64_t{halves[1].permitted} << 32; }
  void keep(uint64_t set) {
    for (auto& half : halves) {
      const auto kept = static_cast<uint32_t>(set);
      half.permitted &= kept;
      half.effective &= kept;
      half.inheritable = 0;
      set >>= 32;
    }
  }
};

Error unsupported_here(const char* call) {
  return {ErrorCode::kUnsupported, std::string(call) + ": " + std::strerror(errno)};
}

}  // namespace

bool leave_namespaces() {
  Capabilities own;
  // A new user namespace gives every capability over itself, which a service's filter may not let us drop.
  if (!own.read() || !own.write()) return false;
  constexpr int kEmptied = CLONE_NEWNET | CLONE_NEWIPC;
  // A new user namespace takes every capability over existing files away.
  if (own.permitted() != 0) return ::unshare(kEmptied) == 0;
  if (::unshare(CLONE_NEWUSER | kEmptied) != 0) return false;
  const rlimit threads{kMostThreads, kMostThreads};
  ::setrlimit(RLIMIT_NPROC, &threads);
  return true;
}

Result<> drop_capabilities() {
  Capabilities own;
  if (!own.read()) return unsupported_here("capget");
  if ((own.permitted() & ~kKept) == 0) return {};
  own.keep(kKept);
  return own.write() ? Result<>() : unsupported_here("capset");
}

Result<> close_descriptors(int first) {
  return ::close_range(static_cast<unsigned>(first), ~0U, 0) == 0 ? Result<>() : unsupported_here("close_range");
}

}  // namespace fathom

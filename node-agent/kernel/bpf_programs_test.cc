#include "node-agent/kernel/bpf_programs.h"

#include <gtest/gtest.h>
#include <linux/capability.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "node-agent/kernel/kernel_availability.h"

namespace fathom::agent::kernel {
namespace {

constexpr uint64_t kTheTwo = uint64_t{1} << CAP_BPF | uint64_t{1} << CAP_PERFMON;

// Of this process, from here on; it never gets others back.
bool keep_only(uint64_t capabilities) {
  __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  __user_cap_data_struct data[2] = {};
  for (int half = 0; half < 2; ++half) {
    data[half].effective = data[half].permitted = static_cast<uint32_t>(capabilities >> (32 * half));
  }
  return ::syscall(SYS_capset, &header, data) == 0;
}

// In a process of its own, with these capabilities and no others.
bool loads_with(uint64_t capabilities) {
  const pid_t child = ::fork();
  if (child == 0) {
    const bool loaded = keep_only(capabilities) && BpfPrograms::load(kLeastRingBytes, true).ok();
    ::_exit(loaded ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

// What the unit of systemd and Kubernetes' manifest give the agent.
TEST(BpfPrograms, NeedTwoCapabilitiesAndNoOther) {
  const auto loaded = BpfPrograms::load(kLeastRingBytes, true);
  const bool has_both = (read_kernel_facts().capabilities & kTheTwo) == kTheTwo;
  if (!loaded || !has_both) GTEST_SKIP() << (has_both ? loaded.error().message : "CAP_BPF or CAP_PERFMON is missing");
  EXPECT_TRUE(loads_with(kTheTwo));
  EXPECT_FALSE(loads_with(uint64_t{1} << CAP_BPF));
  EXPECT_FALSE(loads_with(uint64_t{1} << CAP_PERFMON));
}

}  // namespace
}  // namespace fathom::agent::kernel

#include "apps/worker/confine.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <new>

#include "cli/exit_codes.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define FATHOM_SANITIZED 1
#endif
#endif

#ifdef FATHOM_SANITIZED
// The search for leaks at the end would trace us, which nobody may here.
extern "C" const char* __asan_default_options();  // NOLINT(bugprone-reserved-identifier)
extern "C" const char* __asan_default_options() {
  return "detect_leaks=0";
}
#endif

namespace fathom {

namespace {

constexpr int kNiceness = 5;

// How much there may be, for the message; a handler of new() takes no argument.
uint64_t memory_limit = 0;

// Without memory there is no string to put together: into a place of its own.
[[noreturn]] void no_memory() {
  char text[200];
  const int size = std::snprintf(text, sizeof text,
                                 "fathom-worker: this takes more than %llu MiB of memory; --memory-mib N allows more, "
                                 "--tid N or --limit N asks for less\n",
                                 static_cast<unsigned long long>(memory_limit >> 20));
  if (::write(STDERR_FILENO, text, static_cast<size_t>(size)) < 0) ::_exit(127);
  ::_exit(static_cast<int>(cli::ExitCode::kLocalFailure));
}

void limit_memory(uint64_t bytes) {
  memory_limit = bytes;
  std::set_new_handler(no_memory);
#ifndef FATHOM_SANITIZED  // whose shadow memory is larger than any limit
  // Memory that is written to. Files that are mapped to be read, images, are given back by the kernel when it wants to.
  const rlimit limit{bytes, bytes};
  ::setrlimit(RLIMIT_DATA, &limit);
#endif
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
}

void forbid_network() {
#if defined(__x86_64__) || defined(__aarch64__)
#ifdef __x86_64__
  constexpr uint32_t kArchitecture = AUDIT_ARCH_X86_64;
#else
  constexpr uint32_t kArchitecture = AUDIT_ARCH_AARCH64;
#endif
  // A call of another architecture's table is none of ours.
  sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, arch)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kArchitecture, 0, 5),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 3, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_execve, 2, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_ptrace, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EACCES),
  };
  const sock_fprog program{static_cast<unsigned short>(std::size(filter)), filter};
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0) ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
#endif
}

}  // namespace

void confine(uint64_t memory_bytes) {
  ::setpriority(PRIO_PROCESS, 0, kNiceness);
  ::unsetenv("DEBUGINFOD_URLS");  // libdw would ask there
  limit_memory(memory_bytes);
  forbid_network();
}

}  // namespace fathom

#include "apps/worker/sandbox/system_calls.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <linux/memfd.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "apps/worker/sandbox/attack_calls.h"
#include "apps/worker/sandbox/sanitized.h"

namespace fathom {

namespace {

constexpr uint32_t kFail = SECCOMP_RET_ERRNO | EPERM;
constexpr uint32_t kIsMissing = SECCOMP_RET_ERRNO | ENOSYS;

// Whatever their arguments, these change this process alone, or files that Landlock judges. On x86-64 the C library
// uses some calls that other architectures lack.
constexpr int kPlainCalls[] = {
    // Memory: mmap and mprotect are below.
    SYS_munmap,
    SYS_mremap,
    SYS_madvise,
    SYS_brk,
    // Threads and time.
    SYS_exit,
    SYS_exit_group,
    SYS_set_robust_list,
    SYS_rseq,
    SYS_gettid,
    SYS_getpid,
    SYS_sched_yield,
    SYS_sched_getaffinity,
    SYS_getcpu,
    SYS_clock_gettime,
    SYS_clock_getres,
    SYS_clock_nanosleep,
    SYS_nanosleep,
    SYS_gettimeofday,
    SYS_getrandom,
    SYS_restart_syscall,
    SYS_rt_sigaction,
    SYS_rt_sigprocmask,
    SYS_rt_sigreturn,
    // What the host is: sort() asks for its memory, an import for its name.
    SYS_sysinfo,
    SYS_uname,
    SYS_getcwd,
    // Descriptors: read and openat are below.
    SYS_close,
    SYS_write,
    SYS_writev,
    SYS_pwrite64,
    SYS_lseek,
    SYS_fstat,
    SYS_fsync,
    SYS_fdatasync,
    SYS_getdents64,
    // Names of files.
    SYS_newfstatat,
    SYS_statx,
    SYS_faccessat,
    SYS_faccessat2,
    SYS_readlinkat,
    SYS_unlinkat,
    SYS_renameat,
    SYS_renameat2,
#ifdef __x86_64__
    SYS_stat,
    SYS_lstat,
    SYS_access,
    SYS_readlink,
    SYS_unlink,
    SYS_rename,
    SYS_time,
#endif
};

#ifdef FATHOM_SANITIZED
// The runtime's stacks for signals, and its checks whether memory can be read, which write it to a pipe.
constexpr int kSanitizerCalls[] = {
    SYS_sigaltstack, SYS_mincore,   SYS_pipe2, SYS_getrusage,
#ifdef __x86_64__
    SYS_pipe,        SYS_getrlimit,
#endif
};
#endif

// How the C library starts a thread: no new process, no namespace.
constexpr uint32_t kThreadFlags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM |
                                  CLONE_SETTLS | CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID;

// O_LARGEFILE as the kernel has it; the C library's is 0 where every file is large.
#ifdef __x86_64__
constexpr uint32_t kLargeFile = 0100000;
#else
constexpr uint32_t kLargeFile = 0400000;
#endif

// Without O_TRUNC: Landlock checks it from version 3 on only, and no part of a decoder empties a file.
constexpr uint32_t kOpenFlags =
    O_ACCMODE | O_CREAT | O_EXCL | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_DIRECTORY | O_NOFOLLOW | O_PATH | kLargeFile;

// Waiting and waking; not the operations with priority inheritance.
constexpr uint32_t kFutexOperations[] = {FUTEX_WAIT,    FUTEX_WAKE,        FUTEX_REQUEUE,    FUTEX_CMP_REQUEUE,
                                         FUTEX_WAKE_OP, FUTEX_WAIT_BITSET, FUTEX_WAKE_BITSET};

void allow(std::vector<CallRule>& rules, uint32_t number, std::vector<ArgumentTest> tests = {}) {
  rules.push_back({number, SECCOMP_RET_ALLOW, std::move(tests)});
}

void allow_plain_calls(std::vector<CallRule>& rules) {
  for (const int number : kPlainCalls) allow(rules, static_cast<uint32_t>(number));
#ifdef FATHOM_SANITIZED
  for (const int number : kSanitizerCalls) allow(rules, static_cast<uint32_t>(number));
#endif
}

// A terminal is open for reading, too: standard output and standard error are not read.
void allow_reading(std::vector<CallRule>& rules) {
  const ArgumentTest not_output{.argument = 0, .value = STDOUT_FILENO, .is_equal = false};
  const ArgumentTest not_error{.argument = 0, .value = STDERR_FILENO, .is_equal = false};
  allow(rules, SYS_read, {not_output, not_error});
  allow(rules, SYS_pread64, {not_output, not_error});
}

void allow_opening(std::vector<CallRule>& rules, const WorkerCalls& options) {
  // Access mode 3 opens a file without the rights that Landlock looks for.
  rules.push_back({SYS_openat, kFail, {{.argument = 2, .value = O_ACCMODE, .mask = O_ACCMODE}}});
  allow(rules, SYS_openat, {{.argument = 2, .value = 0, .mask = ~kOpenFlags}});
  if (options.is_openat2_allowed) {
    allow(rules, SYS_openat2);
  } else {
    rules.push_back({SYS_openat2, kIsMissing});
  }
  allow(rules, SYS_memfd_create, {{.argument = 1, .value = MFD_CLOEXEC}});
}

void allow_memory(std::vector<CallRule>& rules) {
  for (const uint32_t number : {SYS_mmap, SYS_mprotect}) {
    allow(rules, number, {{.argument = 2, .value = 0, .mask = PROT_EXEC}});
  }
}

void allow_threads(std::vector<CallRule>& rules) {
  // The flags of clone3 lie in memory, which a filter does not see. The C library then uses clone.
  rules.push_back({SYS_clone3, kIsMissing});
  allow(rules, SYS_clone, {{.argument = 0, .value = kThreadFlags, .is_upper_half_zero = true}});
  for (const uint32_t operation : kFutexOperations) {
    allow(rules, SYS_futex,
          {{.argument = 1, .value = operation, .mask = ~uint32_t{FUTEX_PRIVATE_FLAG | FUTEX_CLOCK_REALTIME}}});
  }
}

// abort() signals its own process.
void allow_own_signals(std::vector<CallRule>& rules, pid_t own_pid) {
  allow(rules, SYS_tgkill, {{.argument = 0, .value = static_cast<uint32_t>(own_pid)}});
}

// Questions about this process and its descriptors.
void allow_questions(std::vector<CallRule>& rules) {
  allow(rules, SYS_prlimit64, {{.argument = 0, .value = 0}, {.argument = 2, .value = 0, .is_upper_half_zero = true}});
  allow(rules, SYS_ioctl, {{.argument = 1, .value = TCGETS}});  // isatty()
  for (const uint32_t command : {F_GETFD, F_SETFD, F_GETFL}) {
    allow(rules, SYS_fcntl, {{.argument = 1, .value = command}});
  }
}

void allow_messages(std::vector<CallRule>& rules, int socket) {
  const ArgumentTest on_socket{.argument = 0, .value = static_cast<uint32_t>(socket)};
  const ArgumentTest no_address{.argument = 4, .value = 0, .is_upper_half_zero = true};
  allow(rules, SYS_sendto, {on_socket, no_address});
  allow(rules, SYS_recvfrom, {on_socket, no_address});
  allow(rules, SYS_recvmsg, {on_socket});
  allow(rules, SYS_sendmsg, {on_socket});
}

void end_at_attacks(std::vector<CallRule>& rules) {
  for (const int number : attack_calls()) rules.push_back({static_cast<uint32_t>(number), SECCOMP_RET_KILL_PROCESS});
}

CallPolicy policy_of(std::vector<CallRule> rules) {
  return {.rules = std::move(rules), .other_calls = kFail, .foreign_abi = SECCOMP_RET_KILL_PROCESS};
}

}  // namespace

CallPolicy worker_calls(const WorkerCalls& options) {
  std::vector<CallRule> rules;
  allow_reading(rules);
  allow_memory(rules);
  allow_threads(rules);
  allow_plain_calls(rules);
  allow_opening(rules, options);
  allow_own_signals(rules, options.own_pid);
  allow_questions(rules);
  if (options.opener >= 0) allow_messages(rules, options.opener);
  end_at_attacks(rules);
  return policy_of(std::move(rules));
}

CallPolicy opener_calls(int socket) {
  std::vector<CallRule> rules;
  allow_messages(rules, socket);
  allow(rules, SYS_openat, {{.argument = 2, .value = 0, .mask = ~uint32_t{O_CLOEXEC | O_NONBLOCK | O_NOCTTY}}});
  for (const uint32_t number : {SYS_newfstatat, SYS_fstat, SYS_pread64, SYS_close, SYS_exit, SYS_exit_group,
                                SYS_rt_sigreturn, SYS_restart_syscall, SYS_munmap, SYS_madvise, SYS_brk}) {
    allow(rules, number);
  }
  allow_memory(rules);
  end_at_attacks(rules);
  return policy_of(std::move(rules));
}

}  // namespace fathom

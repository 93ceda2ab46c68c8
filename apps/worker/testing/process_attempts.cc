// Attempts to run other programs, and on other processes of the same user.
#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <string>

#include "apps/worker/testing/escape_attempts.h"

namespace fathom::escape {

namespace {

constexpr const char* kProgram = "/bin/true";

int run_program(const Target&) {
  char* const words[] = {const_cast<char*>(kProgram), nullptr};
  ::execv(kProgram, words);
  return errno;
}

int run_program_at(const Target&) {
  char* const words[] = {const_cast<char*>(kProgram), nullptr};
  char* const nothing[] = {nullptr};
  ::syscall(SYS_execveat, AT_FDCWD, kProgram, words, nothing, 0);
  return errno;
}

int run_from_memory(const Target&) {
  const int file = static_cast<int>(::syscall(SYS_memfd_create, "program", 0));
  if (file < 0) return errno;
  const std::string script = std::string("#!") + kProgram + "\n";
  if (::write(file, script.data(), script.size()) < 0) return errno;
  char* const words[] = {const_cast<char*>("program"), nullptr};
  char* const nothing[] = {nullptr};
  ::syscall(SYS_execveat, file, "", words, nothing, AT_EMPTY_PATH);
  return errno;
}

// The child ends at once; a child of ours that runs is the success.
int end_of_child(long pid) {
  if (pid == 0) ::_exit(0);
  if (pid < 0) return errno;
  int status = 0;
  return outcome(::waitpid(static_cast<pid_t>(pid), &status, __WALL));
}

int make_process(const Target&) {
  return end_of_child(::fork());
}

int clone_process(const Target&) {
  return end_of_child(::syscall(SYS_clone, SIGCHLD, nullptr, nullptr, nullptr, nullptr));
}

int clone3_process(const Target&) {
  clone_args arguments{};
  arguments.exit_signal = SIGCHLD;
  return end_of_child(::syscall(SYS_clone3, &arguments, sizeof arguments));
}

int copy_memory(const Target& target, long call, char* into) {
  const iovec own{into, 1};
  const iovec other{const_cast<char*>(target.memory), 1};
  return outcome(::syscall(call, target.server, &own, 1, &other, 1, 0));
}

int read_memory(const Target& target) {
  char byte = 0;
  return copy_memory(target, SYS_process_vm_readv, &byte);
}

int write_memory(const Target& target) {
  char byte = 'x';
  return copy_memory(target, SYS_process_vm_writev, &byte);
}

int open_of_server(const Target& target, const char* name, int flags) {
  return outcome(::open(("/proc/" + std::to_string(target.server) + "/" + name).c_str(), flags));
}

int trace_server(const Target& target) {
  if (::ptrace(PTRACE_SEIZE, target.server, nullptr, nullptr) != 0) return errno;
  ::ptrace(PTRACE_DETACH, target.server, nullptr, nullptr);
  return 0;
}

int take_descriptor(const Target& target) {
  const auto server = static_cast<int>(::syscall(SYS_pidfd_open, target.server, 0));
  return server < 0 ? errno : outcome(::syscall(SYS_pidfd_getfd, server, STDIN_FILENO, 0));
}

int signal_by_descriptor(const Target& target) {
  const auto server = static_cast<int>(::syscall(SYS_pidfd_open, target.server, 0));
  return server < 0 ? errno : outcome(::syscall(SYS_pidfd_send_signal, server, SIGCONT, nullptr, 0));
}

int queue_signal(const Target& target) {
  siginfo_t about{};
  about.si_code = SI_QUEUE;
  about.si_pid = ::getpid();
  return outcome(::syscall(SYS_rt_sigqueueinfo, target.server, SIGCONT, &about));
}

// The kernel then sends SIGIO to the server whenever a pipe of ours has data.
int signal_by_pipe(const Target& target) {
  return outcome(::fcntl(STDIN_FILENO, F_SETOWN, target.server));
}

int limit_server(const Target& target) {
  const rlimit limit{1 << 10, 1 << 10};
  return outcome(::prlimit(target.server, RLIMIT_NOFILE, &limit, nullptr));
}

int schedule_server(const Target& target) {
  cpu_set_t processors;
  CPU_ZERO(&processors);
  if (::sched_getaffinity(target.server, sizeof processors, &processors) != 0) return errno;
  return outcome(::sched_setaffinity(target.server, sizeof processors, &processors));
}

constexpr Attempt kProcessAttempts[] = {
    {"execve", run_program},
    {"execveat", run_program_at},
    {"execveat-memory", run_from_memory},
    {"fork", make_process},
    {"clone-process", clone_process},
    {"clone3-process", clone3_process},
    {"process_vm_readv", read_memory},
    {"process_vm_writev", write_memory},
    {"read-server-memory", [](const Target& target) { return open_of_server(target, "mem", O_RDONLY); }},
    {"write-server-memory", [](const Target& target) { return open_of_server(target, "mem", O_RDWR); }},
    {"read-server-environment", [](const Target& target) { return open_of_server(target, "environ", O_RDONLY); }},
    {"read-server-maps", [](const Target& target) { return open_of_server(target, "maps", O_RDONLY); }},
    {"read-through-server-root",
     [](const Target& target) { return open_of_server(target, "root/etc/passwd", O_RDONLY); }},
    {"change-server-oom-score", [](const Target& target) { return open_of_server(target, "oom_score_adj", O_WRONLY); }},
    {"ptrace-server", trace_server},
    {"ptrace-by-server", [](const Target&) { return outcome(::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr)); }},
    {"pidfd_getfd", take_descriptor},
    {"pidfd_send_signal", signal_by_descriptor},
    {"kill-server", [](const Target& target) { return outcome(::kill(target.server, SIGCONT)); }},
    {"tgkill-server",
     [](const Target& target) { return outcome(::syscall(SYS_tgkill, target.server, target.server, SIGCONT)); }},
    {"tkill-server", [](const Target& target) { return outcome(::syscall(SYS_tkill, target.server, SIGCONT)); }},
    {"queue-signal-to-server", queue_signal},
    {"signal-by-pipe", signal_by_pipe},
    {"limit-server", limit_server},
    {"schedule-server", schedule_server},
    {"change-priority-of-server",
     [](const Target& target) { return outcome(::setpriority(PRIO_PROCESS, static_cast<id_t>(target.server), 19)); }},
    {"outlive-server", [](const Target&) { return outcome(::prctl(PR_SET_PDEATHSIG, 0)); }},
    {"leave-process-group", [](const Target&) { return outcome(::setsid()); }},
};

}  // namespace

std::span<const Attempt> process_attempts() {
  return kProcessAttempts;
}

}  // namespace fathom::escape

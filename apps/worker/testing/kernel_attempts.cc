// Attempts on memory protection, the network, namespaces, privileges and interfaces of the kernel.
#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/bpf.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <mqueue.h>
#include <sched.h>
#include <signal.h>
#include <sys/fanotify.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <string>

#include "apps/worker/testing/escape_attempts.h"

namespace fathom::escape {

namespace {

constexpr size_t kPageBytes = 4096;

int mapped(const void* at) {
  return at == MAP_FAILED ? errno : 0;
}

int make_executable(const Target&) {
  void* page = ::mmap(nullptr, kPageBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return page == MAP_FAILED ? errno : outcome(::mprotect(page, kPageBytes, PROT_READ | PROT_EXEC));
}

int make_executable_with_key(const Target&) {
  void* page = ::mmap(nullptr, kPageBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return errno;
  return outcome(::syscall(SYS_pkey_mprotect, page, kPageBytes, PROT_READ | PROT_EXEC, -1));
}

int map_own_snapshot_executable(const Target& target) {
  const int file = ::open(target.own_snapshot.c_str(), O_RDONLY);
  return file < 0 ? errno : mapped(::mmap(nullptr, kPageBytes, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, 0));
}

int connect_tcp(const Target&) {
  const int file = ::socket(AF_INET, SOCK_STREAM, 0);
  if (file < 0) return errno;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(1);
  return reached(::connect(file, reinterpret_cast<const sockaddr*>(&address), sizeof address));
}

int connect_abstract(const Target&) {
  const int file = ::socket(AF_UNIX, SOCK_STREAM, 0);
  if (file < 0) return errno;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strcpy(address.sun_path + 1, "fathom-nobody-listens");
  return reached(::connect(file, reinterpret_cast<const sockaddr*>(&address), sizeof address));
}

int make_socket_pair(const Target&) {
  int ends[2];
  return outcome(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
}

int join_network(const Target& target) {
  const std::string path = "/proc/" + std::to_string(target.server) + "/ns/net";
  const int file = ::open(path.c_str(), O_RDONLY);
  return file < 0 ? errno : outcome(::setns(file, CLONE_NEWNET));
}

int clone_user_namespace(const Target&) {
  const long pid = ::syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, nullptr, nullptr, nullptr, nullptr);
  if (pid == 0) ::_exit(0);
  return outcome(pid);
}

int load_bpf(const Target&) {
  bpf_attr attributes{};
  return reached(::syscall(SYS_bpf, BPF_MAP_CREATE, &attributes, sizeof attributes));
}

// A software counter of this process's own time, as the first version of perf_event_attr describes it.
int open_performance_counter(const Target&) {
  constexpr uint64_t kSoftware = 1, kBytes = 64, kExcludeKernel = 1 << 5;
  const uint64_t attributes[kBytes / 8] = {kSoftware | kBytes << 32, 0, 0, 0, 0, kExcludeKernel};
  return outcome(::syscall(SYS_perf_event_open, attributes, 0, -1, -1, 0));
}

int gain_capability(const Target&) {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct sets[2] = {};
  if (::syscall(SYS_capget, &header, sets) != 0) return errno;
  return outcome(::syscall(SYS_capset, &header, sets));
}

int install_filter_again(const Target&) {
  sock_filter allow[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  const sock_fprog program{1, allow};
  return outcome(::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program));
}

int install_filter_by_prctl(const Target&) {
  sock_filter allow[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  const sock_fprog program{1, allow};
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return errno;
  return outcome(::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program));
}

int raise_limit(const Target&) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return errno;
  return outcome(::setrlimit(RLIMIT_NOFILE, &limit));
}

int type_into_terminal(const Target&) {
  char byte = 'x';
  return reached(::ioctl(STDIN_FILENO, TIOCSTI, &byte));
}

int count_waiting_bytes(const Target&) {
  int waiting = 0;
  return reached(::ioctl(STDIN_FILENO, FIONREAD, &waiting));
}

int set_clock(const Target&) {
  return reached(::syscall(SYS_clock_settime, -1, nullptr));
}

#ifdef __x86_64__
// getpid, by the table of 32-bit programs.
int call_by_interrupt(const Target&) {
  long result = 20;
  asm volatile("int $0x80" : "+a"(result) : : "memory", "r8", "r9", "r10", "r11");
  errno = static_cast<int>(-result);
  return result > 0 ? 0 : errno;
}

int call_by_x32(const Target&) {
  return outcome(::syscall(0x40000000 + SYS_getpid));
}
#endif

constexpr Attempt kKernelAttempts[] = {
    {"mmap-executable",
     [](const Target&) {
       return mapped(
           ::mmap(nullptr, kPageBytes, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
     }},
    {"mmap-file-executable", map_own_snapshot_executable},
    {"mprotect-executable", make_executable},
    {"pkey_mprotect-executable", make_executable_with_key},
    {"personality-readable-is-executable", [](const Target&) { return outcome(::personality(READ_IMPLIES_EXEC)); }},
    {"memfd-executable", [](const Target&) { return outcome(::syscall(SYS_memfd_create, "code", 0)); }},
#ifdef SYS_memfd_secret
    {"memfd_secret", [](const Target&) { return outcome(::syscall(SYS_memfd_secret, 0)); }},
#endif
    {"socket-tcp", [](const Target&) { return outcome(::socket(AF_INET, SOCK_STREAM, 0)); }},
    {"socket-udp6", [](const Target&) { return outcome(::socket(AF_INET6, SOCK_DGRAM, 0)); }},
    {"socket-unix", [](const Target&) { return outcome(::socket(AF_UNIX, SOCK_DGRAM, 0)); }},
    {"socket-netlink", [](const Target&) { return outcome(::socket(AF_NETLINK, SOCK_RAW, 0)); }},
    {"socket-alg", [](const Target&) { return outcome(::socket(AF_ALG, SOCK_SEQPACKET, 0)); }},
    {"socketpair", make_socket_pair},
    {"connect-tcp", connect_tcp},
    {"connect-abstract-unix", connect_abstract},
    {"shared-memory", [](const Target&) { return outcome(::shmget(IPC_PRIVATE, kPageBytes, 0600)); }},
    {"semaphore", [](const Target&) { return outcome(::semget(IPC_PRIVATE, 1, 0600)); }},
    {"message-queue", [](const Target&) { return outcome(::syscall(SYS_msgget, IPC_PRIVATE, 0600)); }},
    {"posix-message-queue",
     [](const Target&) { return reached(::syscall(SYS_mq_open, "fathom-none", O_RDONLY, 0, nullptr)); }},
    {"io_uring_setup", [](const Target&) { return reached(::syscall(SYS_io_uring_setup, 1, nullptr)); }},
    {"io_setup", [](const Target&) { return reached(::syscall(SYS_io_setup, 1, nullptr)); }},
    {"unshare-user", [](const Target&) { return outcome(::unshare(CLONE_NEWUSER)); }},
    {"unshare-mounts-and-user", [](const Target&) { return outcome(::unshare(CLONE_NEWUSER | CLONE_NEWNS)); }},
    {"clone-user", clone_user_namespace},
    {"setns", join_network},
    {"mount",
     [](const Target& target) {
       return outcome(::mount("none", target.directory.c_str(), "tmpfs", MS_RDONLY, nullptr));
     }},
    {"umount", [](const Target&) { return reached(::umount2("/nowhere", MNT_DETACH)); }},
    {"open_tree", [](const Target&) { return outcome(::syscall(SYS_open_tree, AT_FDCWD, "/", 0)); }},
    {"pivot_root", [](const Target&) { return reached(::syscall(SYS_pivot_root, "/nowhere", "/nowhere")); }},
    {"chroot", [](const Target& target) { return outcome(::chroot(target.directory.c_str())); }},
    {"fanotify", [](const Target&) { return outcome(::fanotify_init(FAN_CLASS_NOTIF | FAN_REPORT_FID, O_RDONLY)); }},
    {"bpf", load_bpf},
    {"perf_event_open", open_performance_counter},
    {"userfaultfd", [](const Target&) { return outcome(::syscall(SYS_userfaultfd, O_CLOEXEC | 1)); }},
    {"keyctl", [](const Target&) { return outcome(::syscall(SYS_keyctl, 0, -2, 1)); }},
    {"add_key", [](const Target&) { return outcome(::syscall(SYS_add_key, "user", "fathom-test", "x", 1, -2)); }},
    {"init_module", [](const Target&) { return reached(::syscall(SYS_init_module, nullptr, 0, nullptr)); }},
    {"kexec_load", [](const Target&) { return reached(::syscall(SYS_kexec_load, 0, 0, nullptr, -1)); }},
    {"clock_settime", set_clock},
    {"syslog", [](const Target&) { return outcome(::syscall(SYS_syslog, 10, nullptr, 0)); }},
    {"setuid", [](const Target&) { return outcome(::setuid(::getuid())); }},
    {"setgroups", [](const Target&) { return outcome(::syscall(SYS_setgroups, 0, nullptr)); }},
    {"capset", gain_capability},
    {"another-seccomp-filter", install_filter_again},
    {"another-filter-by-prctl", install_filter_by_prctl},
    {"make-dumpable", [](const Target&) { return outcome(::prctl(PR_SET_DUMPABLE, 1)); }},
    {"allow-tracers", [](const Target&) { return outcome(::prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY)); }},
    {"setrlimit", raise_limit},
    {"ioctl-of-terminal", type_into_terminal},
    {"ioctl-of-pipe", count_waiting_bytes},
    {"duplicate-descriptor", [](const Target&) { return outcome(::dup(STDERR_FILENO)); }},
#ifdef __x86_64__
    {"int-0x80", call_by_interrupt},
    {"x32", call_by_x32},
    {"modify_ldt", [](const Target&) { return outcome(::syscall(SYS_modify_ldt, 0, nullptr, 0)); }},
    {"iopl", [](const Target&) { return outcome(::syscall(SYS_iopl, 0)); }},
#endif
};

}  // namespace

std::span<const Attempt> kernel_attempts() {
  return kKernelAttempts;
}

}  // namespace fathom::escape

// Subjects in which the kernel takes part: signals, system calls, critical sections.
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csetjmp>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <initializer_list>

#if __has_include(<sys/rseq.h>)
#include <sys/rseq.h>
#endif

#include "snapshot/record/programs/step_subjects.h"

namespace {

volatile std::sig_atomic_t handled = 0;
sigjmp_buf after_fault;

void handle(int signal, void (*handler)(int), int flags = 0) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = flags;
  ::sigaction(signal, &action, nullptr);
}

void count(int) {
  handled = handled + 1;
}
void jump(int) {
  siglongjmp(after_fault, 1);
}

void alarm_each(long micros) {
  itimerval timer{};
  timer.it_interval.tv_usec = timer.it_value.tv_usec = micros;
  ::setitimer(ITIMER_REAL, &timer, nullptr);
}

// Sends `signal` to this process after a while, from a child that nobody waits for with the processor.
pid_t signal_later(int first, int second = 0) {
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child != 0) return child;
  ::usleep(300'000);
  ::kill(parent, first);
  if (second != 0) {
    ::usleep(100'000);
    ::kill(parent, second);
  }
  ::_exit(0);
}

}  // namespace

// Handlers between any two instructions, nested ones, and on a stack of their own.
bool subject_signals() {
  handled = 0;
  handle(SIGALRM, count);
  handle(SIGUSR1, count);
  handle(
      SIGUSR2,
      [](int) {
        ::raise(SIGUSR1);
        handled = handled + 1;
      },
      SA_ONSTACK);
  static char stack[65536];
  const stack_t own{stack, 0, sizeof stack};
  ::sigaltstack(&own, nullptr);
  alarm_each(2000);
  while (handled < 4) {
  }
  alarm_each(0);
  const int before = handled;
  ::raise(SIGUSR2);
  ::signal(SIGUSR1, SIG_IGN);
  ::raise(SIGUSR1);
  ::signal(SIGCHLD, SIG_DFL);
  ::raise(SIGCHLD);
  return handled == before + 2;
}

bool subject_faults() {
  handle(SIGSEGV, jump, SA_NODEFER);
  handle(SIGFPE, jump, SA_NODEFER);
  handle(SIGILL, jump, SA_NODEFER);
  volatile int faults = 0;
  volatile int* volatile nowhere = nullptr;
  if (sigsetjmp(after_fault, 1) == 0) *nowhere = 1;
  faults = faults + 1;
  if (sigsetjmp(after_fault, 1) == 0) asm volatile("ud2");
  faults = faults + 1;
  if (sigsetjmp(after_fault, 1) == 0) asm volatile("hlt");
  faults = faults + 1;
  if (sigsetjmp(after_fault, 1) == 0)
    asm volatile("xor %%edx, %%edx\n xor %%ecx, %%ecx\n div %%ecx" : : : "eax", "ecx", "edx", "cc");
  faults = faults + 1;
  return faults == 4;
}

bool subject_breakpoints() {
  handled = 0;
  handle(SIGTRAP, count);
  asm volatile("int3");
  asm volatile("int3");
  ::kill(::getpid(), SIGTRAP);
  return handled == 3;
}

bool subject_calls() {
  char buffer[16] = {};
  int ends[2];
  if (::pipe(ends) != 0) return false;
  const bool piped = ::write(ends[1], "hello", 5) == 5 && ::read(ends[0], buffer, sizeof buffer) == 5;
  ::close(ends[0]);
  ::close(ends[1]);
  const bool refused = ::syscall(SYS_close, 12345) == -1 && errno == EBADF && ::syscall(999) == -1 && errno == ENOSYS;
  return piped && refused && ::syscall(SYS_getpid) == ::getpid();
}

// A handler while the thread waits: the call fails, or begins again.
bool subject_interrupted() {
  int ends[2];
  char byte = 0;
  if (::pipe(ends) != 0) return false;
  handled = 0;
  handle(SIGUSR1, count);
  const pid_t first = signal_later(SIGUSR1);
  const bool failed = ::read(ends[0], &byte, 1) == -1 && errno == EINTR;
  handle(
      SIGUSR1, [](int) { handled = handled + 1; }, SA_RESTART);
  static int write_end;
  write_end = ends[1];
  handle(
      SIGUSR2, [](int) { (void)!::write(write_end, "x", 1); }, SA_RESTART);
  const pid_t second = signal_later(SIGUSR1, SIGUSR2);
  const bool restarted = ::read(ends[0], &byte, 1) == 1 && byte == 'x';
  ::waitpid(first, nullptr, 0);
  ::waitpid(second, nullptr, 0);
  return failed && restarted && handled == 2;
}

// Stopped and continued while it sleeps: the kernel restarts the call by another number.
bool subject_stopped() {
  const pid_t child = signal_later(SIGSTOP, SIGCONT);
  const timespec wait{0, 600'000'000};
  const bool slept = ::nanosleep(&wait, nullptr) == 0;
  pollfd nothing{};
  const bool polled = ::poll(&nothing, 0, 10) == 0;
  ::waitpid(child, nullptr, 0);
  return slept && polled;
}

bool subject_vdso() {
  timespec now{};
  unsigned cpu = 0;
  bool fine = true;
  for (const clockid_t clock : {CLOCK_REALTIME, CLOCK_MONOTONIC, CLOCK_MONOTONIC_COARSE, CLOCK_PROCESS_CPUTIME_ID}) {
    fine = ::clock_gettime(clock, &now) == 0 && fine;
  }
  return ::getcpu(&cpu, nullptr) == 0 && fine && ::time(nullptr) != 0;
}

bool subject_affinity() {
  cpu_set_t set;
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return false;
  const int count = CPU_COUNT(&set);
  const bool all = count == ::sysconf(_SC_NPROCESSORS_ONLN);
  const bool kept = ::sched_setaffinity(0, sizeof set, &set) == 0 && ::sched_getaffinity(0, sizeof set, &set) == 0;
  return all && kept && CPU_COUNT(&set) == count;
}

#ifdef RSEQ_SIG
namespace {

struct rseq* own_rseq() {
  return reinterpret_cast<struct rseq*>(static_cast<char*>(__builtin_thread_pointer()) + __rseq_offset);
}

// Adds one to a word in a section that must not be stopped; false: it was, and nothing was added.
bool add_in_section(intptr_t* word) {
  asm goto(
      ".pushsection __rseq_cs, \"aw\"\n .balign 32\n"
      "3: .long 0, 0\n .quad 1f, 2f - 1f, 4f\n .popsection\n"
      "lea 3b(%%rip), %%rax\n"
      "mov %%rax, 8(%[rseq])\n"
      "1: cmpq $-1, %[word]\n je %l[refused]\n"
      "mov %[word], %%rcx\n inc %%rcx\n mov %%rcx, %[word]\n"
      "2:\n"
      ".pushsection __rseq_abort, \"ax\"\n .byte 0x0f, 0xb9, 0x3d\n .long %c[signature]\n"
      "4: jmp %l[aborted]\n .popsection\n"
      :
      : [rseq] "r"(own_rseq()), [word] "m"(*word), [signature] "i"(RSEQ_SIG)
      : "rax", "rcx", "memory", "cc"
      : aborted, refused);
  return true;
aborted:
refused:
  return false;
}

}  // namespace

bool subject_rseq() {
  intptr_t word = 0;
  int tries = 0;
  while (word < 10 && tries < 100) {
    add_in_section(&word);
    tries++;
  }
  intptr_t closed = -1;
  return word == 10 && !add_in_section(&closed) && closed == -1;
}
#else
bool subject_rseq() {
  return true;
}
#endif

bool subject_possible(const char* name) {
  if (std::strcmp(name, "avx512") == 0) return __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
#ifdef RSEQ_SIG
  if (std::strcmp(name, "rseq") == 0) return __rseq_size != 0;
#else
  if (std::strcmp(name, "rseq") == 0) return false;
#endif
  return true;
}

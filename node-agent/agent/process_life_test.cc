#include "node-agent/agent/process_life.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "base/fd.h"
#include "base/time.h"

namespace fathom::agent {
namespace {

TEST(ProcessLife, KnowsTheLivingAndTheDead) {
  pid_t child = ::fork();
  if (child == 0) {
    for (;;) ::pause();
  }
  ProcessId process = identify_process(child);
  ASSERT_TRUE(process.known());
  EXPECT_EQ(life_of(process), Life::kAlive);
  EXPECT_EQ(life_of({child, process.started_ticks + 1}), Life::kGone) << "another one of that number";
  ::kill(child, SIGKILL);
  siginfo_t info;
  ::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT);
  EXPECT_EQ(life_of(process), Life::kGone) << "a zombie writes nothing";
  ::waitpid(child, nullptr, 0);
  EXPECT_EQ(life_of(process), Life::kGone);
  EXPECT_FALSE(identify_process(child).known());
  EXPECT_EQ(life_of({}), Life::kUnknown);
}

// Its first thread ends, another one stays; the pipe's end says that it runs.
pid_t fork_without_first_thread(const Pipe& begun) {
  pid_t child = ::fork();
  if (child != 0) return child;
  pthread_t thread;
  auto go_on = [](void*) -> void* {
    for (;;) ::pause();
  };
  if (::pthread_create(&thread, nullptr, go_on, nullptr) != 0) std::_Exit(1);
  if (::write(begun.write.get(), "x", 1) != 1) std::_Exit(1);
  ::syscall(SYS_exit, 0);
  std::_Exit(1);
}

char state_of(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string line;
  std::getline(file, line);
  std::optional<ProcessStat> stat = parse_process_stat(line);
  return stat ? stat->state : '?';
}

TEST(ProcessLife, AProcessOutlivesItsFirstThread) {
  Result<Pipe> begun = make_pipe();
  ASSERT_TRUE(begun.ok());
  pid_t child = fork_without_first_thread(*begun);
  char byte;
  ASSERT_EQ(::read(begun->read.get(), &byte, 1), 1);
  uint64_t give_up = now_monotonic_nano() + 20 * kNanosPerSecond;
  while (state_of(child) != 'Z' && now_monotonic_nano() < give_up) ::sched_yield();
  ASSERT_EQ(state_of(child), 'Z') << "the first thread is gone";
  ProcessId process = identify_process(child);
  EXPECT_TRUE(process.known());
  EXPECT_EQ(life_of(process), Life::kAlive);
  ::kill(child, SIGKILL);
  siginfo_t info;
  ::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT);
  EXPECT_EQ(life_of(process), Life::kGone);
  ::waitpid(child, nullptr, 0);
}

TEST(ProcessLife, ALookThatFailsIsNoDeath) {
  ProcessId own = identify_process(::getpid());
  rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
  rlimit none = limit;
  none.rlim_cur = 0;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  Life life = life_of(own);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);
  EXPECT_EQ(life, Life::kUnknown) << "without a descriptor nothing can be seen";
  EXPECT_EQ(life_of(own), Life::kAlive);
}

TEST(ProcessLife, ReadsTheKernelsLine) {
  std::string line = "12 (a ) R (b) S 1 12 12 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 987654 1 1";
  auto stat = parse_process_stat(line);
  ASSERT_TRUE(stat);
  EXPECT_EQ(stat->state, 'S');
  EXPECT_EQ(stat->threads, 1u);
  EXPECT_EQ(stat->started_ticks, 987654u);
  for (const char* text :
       {"", "12", "12 (a)", "12 (a) ", "12 (a) S 1 2 3", "12 (a) S 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 x"})
    EXPECT_FALSE(parse_process_stat(text)) << text;
}

TEST(ProcessLife, KnowsWhatAProcessMaps) {
  Fd file(::memfd_create("mapped", MFD_CLOEXEC));
  ASSERT_EQ(::ftruncate(file.get(), 4096), 0);
  struct stat status {};
  ASSERT_EQ(::fstat(file.get(), &status), 0);
  EXPECT_EQ(maps_inode(::getpid(), status.st_ino), std::optional(false));
  void* mapping = ::mmap(nullptr, 4096, PROT_READ, MAP_SHARED, file.get(), 0);
  EXPECT_EQ(maps_inode(::getpid(), status.st_ino), std::optional(true));
  ::munmap(mapping, 4096);
  EXPECT_EQ(maps_inode(INT32_MAX, 1), std::nullopt);
}

}  // namespace
}  // namespace fathom::agent

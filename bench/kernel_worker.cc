#include "bench/kernel_worker.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "bench/loops.h"

namespace fathom::bench {

namespace {

constexpr unsigned kProcessor = 1;
constexpr int kCallLoops = 200;
constexpr size_t kPageBytes = 4096;
constexpr size_t kFaultBytes = kFaultsOfALoop * kPageBytes;
constexpr int kSwitchLoops = 400;
constexpr int kRoundsOfALoop = 50;

// A loop is shorter than the kernel's tick; what disturbs it only adds.
double lower_quartile(std::vector<double>& times) {
  auto quartile = times.begin() + static_cast<long>(times.size() / 4);
  std::nth_element(times.begin(), quartile, times.end());
  return *quartile;
}

void transfer(int descriptor, ssize_t (*with)(int, char*)) {
  char byte = 0;
  if (with(descriptor, &byte) != 1) ::_exit(1);
}
ssize_t take(int descriptor, char* byte) {
  return ::read(descriptor, byte, 1);
}
ssize_t give(int descriptor, char* byte) {
  return ::write(descriptor, byte, 1);
}

struct PingPong {
  Pipe there;
  Pipe back;
  pid_t partner = -1;
};

PingPong start_partner() {
  PingPong game{*make_pipe(), *make_pipe()};
  game.partner = ::fork();
  if (game.partner != 0) return game;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  for (;;) transfer(game.there.read.get(), take), transfer(game.back.write.get(), give);
}

double time_rounds(const PingPong& game) {
  const uint64_t begin = now_monotonic_nano();
  for (int i = 0; i < kRoundsOfALoop; ++i) transfer(game.there.write.get(), give), transfer(game.back.read.get(), take);
  return static_cast<double>(now_monotonic_nano() - begin) / kRoundsOfALoop / 2;
}

// Small pages, each with a fault of its own, that nobody has touched yet.
double time_first_reads(char* pages) {
  ::madvise(pages, kFaultBytes, MADV_DONTNEED);
  const uint64_t begin = now_monotonic_nano();
  for (size_t at = 0; at < kFaultBytes; at += kPageBytes) (void)*static_cast<volatile char*>(pages + at);
  return static_cast<double>(now_monotonic_nano() - begin) / kFaultsOfALoop;
}

Error died() {
  return unavailable("the measured process has died");
}

}  // namespace

double time_empty_call_ns() {
  std::vector<double> times;
  for (int loop = 0; loop < kCallLoops; ++loop) times.push_back(time_loop([](int) { ::syscall(SYS_getppid); }));
  return lower_quartile(times);
}

double time_fault_ns() {
  void* pages = ::mmap(nullptr, kFaultBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) ::_exit(1);
  ::madvise(pages, kFaultBytes, MADV_NOHUGEPAGE);
  std::vector<double> times;
  for (int loop = 0; loop < kFaultLoops; ++loop) times.push_back(time_first_reads(static_cast<char*>(pages)));
  ::munmap(pages, kFaultBytes);
  return lower_quartile(times);
}

double time_switch_ns() {
  const PingPong game = start_partner();
  std::vector<double> times;
  for (int loop = 0; loop < kSwitchLoops; ++loop) times.push_back(time_rounds(game));
  ::kill(game.partner, SIGKILL);
  ::waitpid(game.partner, nullptr, 0);
  return lower_quartile(times);
}

namespace {

double answer_to(char question) {
  switch (question) {
    case 'c':
      return time_empty_call_ns();
    case 'f':
      return time_fault_ns();
    default:
      return time_switch_ns();
  }
}

}  // namespace

Result<std::unique_ptr<KernelWorker>> KernelWorker::start() {
  Result<Pipe> questions = make_pipe();
  Result<Pipe> answers = make_pipe();
  if (!questions) return questions.error();
  if (!answers) return answers.error();
  std::unique_ptr<KernelWorker> worker(new KernelWorker(*std::move(questions), *std::move(answers)));
  worker->pid_ = ::fork();
  if (worker->pid_ < 0) return system_error("cannot start a process");
  if (worker->pid_ == 0) worker->serve();
  worker->answers_.write.close();  // or its end would not be seen
  return worker;
}

KernelWorker::~KernelWorker() {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

void KernelWorker::serve() const {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  pin_this_thread(kProcessor);
  for (char question; ::read(questions_.read.get(), &question, 1) == 1;) {
    const double answer = answer_to(question);
    if (::write(answers_.write.get(), &answer, sizeof answer) != sizeof answer) break;
  }
  ::_exit(0);
}

Result<double> KernelWorker::ask(char question) {
  double answer = 0;
  if (::write(questions_.write.get(), &question, 1) != 1) return died();
  if (::read(answers_.read.get(), &answer, sizeof answer) != sizeof answer) return died();
  return answer;
}

int run_empty_calls(int ready_fd) {
  pin_this_thread(kProcessor);
  const std::string line = std::to_string(time_empty_call_ns()) + "\n";
  return ::write(ready_fd, line.data(), line.size()) == static_cast<ssize_t>(line.size()) ? 0 : 1;
}

}  // namespace fathom::bench

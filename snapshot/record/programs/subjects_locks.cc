// A chain of holders: chain_begins() waits for a lock whose holder waits for a second lock, and the holder of that is
// in a system call.
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <ctime>
#include <mutex>
#include <thread>

#include "snapshot/record/programs/step_subjects.h"

namespace {

constexpr long kHeldNano = 500'000'000;

std::mutex stock_lock, log_lock;
std::atomic<int> locks_held{0};
std::atomic<int> taken{0};

// The parent of a vfork() child cannot be interrupted before the child ends, as in fsync() on a real disk.
void sleep_without_interruption() {
  const pid_t child = ::vfork();
  if (child == 0) {
    const timespec long_enough{0, kHeldNano};
    ::nanosleep(&long_enough, nullptr);
    ::_exit(0);
  }
  ::waitpid(child, nullptr, 0);
}

void write_log() {
  const std::lock_guard<std::mutex> guard(log_lock);
  locks_held = 1;
  sleep_without_interruption();
}

void take_stock() {
  while (locks_held < 1) ::sched_yield();
  const std::lock_guard<std::mutex> guard(stock_lock);
  locks_held = 2;
  const std::lock_guard<std::mutex> logged(log_lock);
  taken++;
}

}  // namespace

extern "C" __attribute__((noinline)) void chain_begins() {
  const std::lock_guard<std::mutex> guard(stock_lock);
  taken++;
}

bool subject_chain() {
  std::thread writer(write_log), taker(take_stock);
  while (locks_held < 2) ::sched_yield();
  chain_begins();
  writer.join();
  taker.join();
  return taken == 2;
}

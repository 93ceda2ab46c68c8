#include "client/helper.h"

#include <pthread.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "client/detail/file.h"
#include "client/detail/tracepoints.h"
#include "client/fork.h"
#include "client/handover.h"
#include "client/pool_memory.h"
#include "client/process.h"
#include "client/process_context.h"
#include "client/signal_context.h"

#ifndef CLOSE_RANGE_UNSHARE
#define CLOSE_RANGE_UNSHARE 2U
#endif

namespace fathom::client {
namespace {

enum HelperState : uint32_t { kNone, kStarted };

constexpr uint64_t kMilli = 1'000'000;
constexpr uint64_t kAgainNano = 200 * kMilli;         // after a start that was not possible
constexpr uint64_t kShortestPauseNano = 20 * kMilli;  // between attempts to find an agent
constexpr uint64_t kLongestPauseNano = 2000 * kMilli;
constexpr uint64_t kRefusedPauseNano = 10'000 * kMilli;

void pause_for(uint64_t nano) {
  const timespec duration = {static_cast<time_t>(nano / 1'000'000'000), static_cast<long>(nano % 1'000'000'000)};
  nanosleep(&duration, nullptr);
}

long close_all(unsigned first, unsigned last, unsigned flags) {
  return syscall(SYS_close_range, first, last, flags);
}

void close_one_by_one(int one, int other) {
  rlimit limit = {1024, 1024};
  getrlimit(RLIMIT_NOFILE, &limit);
  const int end = static_cast<int>(limit.rlim_cur < 65536 ? limit.rlim_cur : 65536);
  for (int fd = 0; fd < end; fd++) {
    if (fd != one && fd != other) close(fd);
  }
}

void close_between(int below, int above) {
  if (above - below > 1) close_all(static_cast<unsigned>(below + 1), static_cast<unsigned>(above - 1), 0);
}

// From here on this thread has the pools' files (the second one may be negative: none) and nothing else: it must not
// keep open what the program closes.
void leave_shared_files(int one, int other) {
  const int low = one < other ? one : other, high = one < other ? other : one;
  if (close_all(static_cast<unsigned>(high) + 1, ~0U, CLOSE_RANGE_UNSHARE) == 0) {
    close_between(low, high);
    close_between(-1, low);
  } else if (unshare(CLONE_FILES) == 0) {
    close_one_by_one(one, other);
  }
}

// A detail pool that the program had to make of another file than the process's has its own descriptor.
int find_detail_file() {
  if (settings.detail_mib == 0) return -1;
  const int of_pool = live().recorder.fd_plus_one.load(std::memory_order_acquire) - 1;
  return of_pool >= 0 ? of_pool : detail::ensure_file();
}

void serve(int pool_fd, int detail_fd) {
  Handed handed;
  handed.pool_fd = pool_fd;
  handed.pool_bytes = pool_geometry().bytes;
  handed.detail_fd = detail_fd;
  handed.detail_bytes = detail_fd < 0 ? 0 : detail::file_bytes();
  handed.is_detail_there = detail::holds_pool;
  handed.switch_tracepoints = detail::switch_from_outside;
  for (uint64_t pause = kShortestPauseNano;;) {
    switch (hand_over(settings.socket_paths, handed)) {
      case Handover::kEnded:
        detail::void_reader();
        pause = kShortestPauseNano;
        break;
      case Handover::kRefused:
        pause = kRefusedPauseNano;
        break;
      case Handover::kLater:
        pause = kLongestPauseNano;
        break;
      case Handover::kNoAgent:
        break;
    }
    pause_for(pause);
    pause = pause * 2 < kLongestPauseNano ? pause * 2 : kLongestPauseNano;
  }
}

// Programs may have closed the descriptor before this thread had its own, and use the number for something else.
bool is_pool(int fd) {
  char* pool = live().pool.load(std::memory_order_acquire);
  return pool != nullptr && file_identity(fd) == pool_file();
}

void* run(void*) {
  prctl(PR_SET_NAME, "fathom");
  const int fd = live().pool_fd_plus_one.load(std::memory_order_acquire) - 1;
  const int detail_fd = find_detail_file();
  leave_shared_files(fd, detail_fd);
  publish_process_context();
  if (is_pool(fd)) serve(fd, detail_fd);
  return nullptr;
}

// Thread-local storage of large programs is taken from the stack's size.
size_t stack_bytes() {
  const long least = sysconf(_SC_THREAD_STACK_MIN);
  return (least > 0 ? static_cast<size_t>(least) : size_t{16384}) + 128 * 1024;
}

// With all signals blocked, which the new thread inherits.
bool start_thread() {
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0) return false;
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_attr_setstacksize(&attributes, stack_bytes());
  pthread_t thread;
  const bool started = pthread_create(&thread, &attributes, run, nullptr) == 0;
  pthread_attr_destroy(&attributes);
  return started;
}

void start(bool possible) {
  uint32_t none = kNone;
  if (!live().helper.compare_exchange_strong(none, kStarted, std::memory_order_acq_rel)) return;
  if (possible && start_thread()) return;
  live().helper_again_nano.store(monotonic_nano() + kAgainNano, std::memory_order_relaxed);
  live().helper.store(kNone, std::memory_order_release);
}

}  // namespace

bool helper_is_due() {
  return live().helper.load(std::memory_order_relaxed) == kNone && settings.socket_paths[0] != nullptr &&
         live().pool_fd_plus_one.load(std::memory_order_acquire) != 0 &&
         monotonic_nano() >= live().helper_again_nano.load(std::memory_order_relaxed);
}

void want_helper(const sigset_t& mask) {
  if (helper_is_due()) start(!maybe_in_signal_handler(mask));
}

void want_helper_safely() {
  if (!helper_is_due()) return;
  const SignalsBlocked blocked;
  start(true);
}

}  // namespace fathom::client

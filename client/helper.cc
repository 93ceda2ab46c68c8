#include "client/helper.h"

#include <pthread.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

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

void close_one_by_one(int kept) {
  rlimit limit = {1024, 1024};
  getrlimit(RLIMIT_NOFILE, &limit);
  const int end = static_cast<int>(limit.rlim_cur < 65536 ? limit.rlim_cur : 65536);
  for (int fd = 0; fd < end; fd++) {
    if (fd != kept) close(fd);
  }
}

// From here on this thread has the pool's file and nothing else: it must not keep open what the program closes.
void leave_shared_files(int kept) {
  if (close_all(static_cast<unsigned>(kept) + 1, ~0U, CLOSE_RANGE_UNSHARE) == 0) {
    close_all(0, static_cast<unsigned>(kept) - 1, 0);
  } else if (unshare(CLONE_FILES) == 0) {
    close_one_by_one(kept);
  }
}

void serve(int pool_fd) {
  const uint64_t bytes = geometry(settings.chunk_count).bytes;
  for (uint64_t pause = kShortestPauseNano;;) {
    switch (hand_over(settings.socket_paths, pool_fd, bytes)) {
      case Handover::kEnded:
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
  leave_shared_files(fd);
  publish_process_context();
  if (is_pool(fd)) serve(fd);
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

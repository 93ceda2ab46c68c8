#include "base/thread_priority.h"

#include <linux/sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <utility>

namespace fathom {

namespace {

constexpr int kIntakeNice = 5;
constexpr int kBackgroundNice = 10;
// A little more than the most that the scheduler gives by itself, 2.8 ms. A thread that asks for shorter turns than the
// one that runs may interrupt it, and keeps its own turn to the end: so an answer, which takes less than a turn,
// neither waits for these threads nor is interrupted by one of them. The longer the turn, the longer they wait for it
// on a processor that is never idle.
constexpr uint64_t kLongTurnNano = 3'000'000;
constexpr int kFirstNice = -10;
constexpr uint64_t kShortTurnNano = 300'000;

// As sched_setattr(2) takes it. The kernel's header for it, <linux/sched/types.h>, contradicts the C library's in
// Debian 12: both define sched_param.
struct SchedulingAttributes {
  uint32_t size = sizeof(SchedulingAttributes);
  uint32_t policy = 0;
  uint64_t flags = 0;
  int32_t nice = 0;
  uint32_t priority = 0;
  uint64_t runtime_nano = 0;
  uint64_t deadline_nano = 0;
  uint64_t period_nano = 0;
};

bool set_nice_and_turn(int nice, uint64_t turn_nano) {
  SchedulingAttributes attributes;
  attributes.flags = SCHED_FLAG_KEEP_POLICY;
  attributes.nice = nice;
  attributes.runtime_nano = turn_nano;
  return ::syscall(SYS_sched_setattr, 0, &attributes, 0) == 0;
}

// Once per thread: a thread keeps the first role that it takes.
bool takes_a_role() {
  thread_local bool done = false;
  return !std::exchange(done, true);
}

int nice_of_this_thread() {
  return ::getpriority(PRIO_PROCESS, static_cast<id_t>(::syscall(SYS_gettid)));
}

bool set_priority(int nice, uint64_t turn_nano) {
  // Before Linux 6.12 turns are all alike, and nothing comes of asking for others.
  if (set_nice_and_turn(nice, turn_nano)) return true;
  return ::setpriority(PRIO_PROCESS, static_cast<id_t>(::syscall(SYS_gettid)), nice) == 0;
}

void lower_priority(int nice) {
  if (takes_a_role()) set_priority(std::max(nice, nice_of_this_thread()), kLongTurnNano);
}

}  // namespace

void yield_to_questions() {
  lower_priority(kIntakeNice);
}

void yield_to_requests() {
  lower_priority(kBackgroundNice);
}

void go_first() {
  if (!takes_a_role()) return;
  int nice = nice_of_this_thread();
  if (!set_priority(std::min(nice, kFirstNice), kShortTurnNano)) set_priority(nice, kShortTurnNano);
}

}  // namespace fathom

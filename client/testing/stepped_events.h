// What the tests share that interrupt the write path of events at each of its instructions: events that carry numbers,
// what is found of them in the pool, and the forks of a handler.
#pragma once

#include <fathom/event.h>
#include <fathom/trace.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>

#include <set>

#include "base/testing/repetitions.h"
#include "client/detail/writer.h"
#include "client/testing/detail_reader.h"
#include "client/testing/own_process.h"
#include "client/testing/single_step.h"
#include "client/testing/stepped_forks.h"

#if defined(FATHOM_UNLOCKED)

namespace fathom::client::testing {

inline uint64_t steps = 0, mains = 0;

// Slow work in a handler runs at every `step_stride`-th instruction only. Each call of is_instant_to_act() counts one.
inline const uint64_t step_stride = repetition_stride();
inline uint64_t instants = 0;
inline bool is_instant_to_act() {
  return instants++ % step_stride == 0;
}

__attribute__((noinline)) inline void event_at_step(uint64_t number) {
  FATHOM_EVENT_ON("step", "number", number, "twice", number * 2);
}
__attribute__((noinline)) inline void main_event(uint64_t number) {
  FATHOM_EVENT_ON("main", "number", number, "twice", number * 2);
}

inline void stepped_event() {
  step_on();
  main_event(mains);
  step_off();
  mains++;
}

// What is in the pool: every number of each kind once, or more than that where a lap has overwritten the rest.
struct Found {
  std::set<uint64_t> mains, steps;
};
inline Found look(DetailReader& reader) {
  Found found;
  for (const ReadEvent& event : reader.events()) {
    if (event.name != "main" && event.name != "step") continue;
    EXPECT_EQ(event.number("twice"), 2 * event.number("number")) << "torn";
    EXPECT_TRUE((event.name == "main" ? found.mains : found.steps).insert(event.number("number")).second) << "twice";
  }
  EXPECT_TRUE(reader.faults().empty()) << reader.faults()[0];
  return found;
}

// What was left behind while a write was under way is sealed when none is, by the next one that takes the slow path.
inline void settle() {
  at_every_step(SIG_DFL);
  const Span span("the last");
  main_event(mains++);
}

inline void expect_all(DetailReader& reader) {
  settle();
  const Found found = look(reader);
  EXPECT_EQ(found.mains.size(), mains);
  EXPECT_EQ(found.steps.size(), steps);
  EXPECT_EQ(fathom_lost_events(), 0U);
  EXPECT_LE(reader.chunks_in_state(pool::kDetailOwned), 1U) << "chunks that nobody writes to";
  EXPECT_EQ(fathom_writer_v1.cursor, fathom_writer_v1.committed);
}

// ---- forks ---------------------------------------------------------------------------------------------------------

// The child goes on with the interrupted write, and then has a pool of its own, in which that write is not.
// In the child nothing is stepped any more: it blocks signals where it makes what is new in a process.
inline void go_on_as_child(void* context) {
  step_no_more(context);
  is_child = true;
  event_at_step(0);
}

inline void fork_at_step(int, siginfo_t*, void* context) {
  if (is_child || !is_instant_to_act()) return;
  const pid_t child = fork();
  child == 0 ? go_on_as_child(context) : expect_good_child(child);
}
// Without the C library's knowledge.
inline void raw_fork_at_step(int, siginfo_t*, void* context) {
  if (is_child || !is_instant_to_act()) return;
  const auto child = static_cast<pid_t>(syscall(SYS_fork));
  child == 0 ? go_on_as_child(context) : expect_good_child(child);
}

// Without the trap flag: after the interrupted event, in the child.
inline int check_child() {
  event_at_step(1);
  DetailReader reader = DetailReader::of_this_process();
  const Found found = look(reader);
  if (::testing::Test::HasFailure()) return 1;
  if (found.steps != std::set<uint64_t>{0, 1}) return 2;
  // Interrupted before its reservation, the write is the child's too.
  if (found.mains.size() > 1 || (found.mains.size() == 1 && *found.mains.begin() != mains)) return 3;
  if (reader.chunks_in_state(pool::kDetailOwned) > 1) return 4;
  if (reader.header().pid != static_cast<uint32_t>(getpid())) return 5;
  return fathom_writer_v1.cursor == fathom_writer_v1.committed ? 0 : 6;
}

}  // namespace fathom::client::testing

#endif

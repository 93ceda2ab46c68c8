// The end of a thread that has written events is interrupted at each of its instructions, by a handler that writes and
// by a fork: its chunks become others', whatever comes between.
#include <pthread.h>

#include <thread>

#include "base/testing/repetitions.h"
#include "client/process.h"
#include "client/testing/stepped_events.h"

#if defined(FATHOM_UNLOCKED)

namespace fathom::client {
namespace {

using testing::at_every_step;
using testing::at_every_step_with_context;
using testing::DetailReader;
using testing::in_own_process;
using testing::mains, testing::steps, testing::forks;
using testing::step_off;
using testing::step_on;

// What the thread has of its chunk when it ends.
enum class Fill { kNothing, kLittle, kMuch, kAll };

constexpr uint32_t kEventBytes = 32;

// Of small chunks only: there are events of many threads in a large one.
bool is_full() {
  const detail::View view = detail::current_view();
  const uint32_t number = view.number_of(fathom_writer_v1.cursor);
  return number < view.large || fathom_writer_v1.cursor + kEventBytes > view.end_of(number);
}

void write_events(Fill fill) {
  const int least = fill == Fill::kNothing ? 0 : fill == Fill::kMuch ? pool::kSmallBytes / kEventBytes / 2 + 1 : 1;
  for (int i = 0; i < least; i++) testing::main_event(mains++);
  while (fill == Fill::kAll && !is_full()) testing::main_event(mains++);
}

// The library's own destructor runs in the first round; this one's events bring the thread back, and the library's is
// interrupted in the second round. A third one is for what handlers have brought.
struct Ending {
  Fill fill;
  int rounds = 0;
};
pthread_key_t ending_key;
void step_through_writers_end(void* state) {
  auto& ending = *static_cast<Ending*>(state);
  if (++ending.rounds == 1) {
    write_events(ending.fill);
    pthread_setspecific(ending_key, state);
    step_on();
  } else {
    step_off();
    if (testing::is_child) _exit(testing::check_child());
    EXPECT_EQ(fathom_writer_v1.cursor, fathom_writer_v1.committed);
  }
}

void end_a_thread(Fill fill) {
  Ending ending{fill};
  std::thread([&] {
    pthread_setspecific(ending_key, &ending);
    testing::main_event(mains++);
  }).join();
  EXPECT_EQ(ending.rounds, 2);
}

// With the threads' ends in them, and one look at the whole.
template <typename Body>
void for_each_fill(std::initializer_list<Fill> fills, const Body& body) {
  in_own_process([&] {
    // The library's key comes first.
    testing::main_event(mains++);
    ASSERT_EQ(pthread_key_create(&ending_key, step_through_writers_end), 0);
    for (const Fill fill : fills) body(fill);
    DetailReader reader = DetailReader::of_this_process();
    testing::settle();
    EXPECT_TRUE(testing::look(reader).mains.contains(mains - 1));
    EXPECT_EQ(fathom_lost_events(), 0U);
    EXPECT_EQ(reader.chunks_in_state(pool::kDetailOwned), 1U) << "this thread's";
  });
}

TEST(EventSignals, AThreadsEndAtEveryInstruction) {
  for_each_fill({Fill::kNothing, Fill::kLittle, Fill::kMuch, Fill::kAll}, [](Fill fill) {
    const uint64_t before = steps;
    at_every_step([](int) { testing::event_at_step(steps++); });
    end_a_thread(fill);
    EXPECT_GT(steps, before + 100) << "instructions";
    DetailReader reader = DetailReader::of_this_process();
    EXPECT_EQ(testing::look(reader).steps.size(), steps);
  });
}

// Where the thread is: how many instructions ago it has left its chunk.
uint64_t since_it_left = 0;
void note_instruction() {
  since_it_left = fathom_writer_v1.cursor == detail::kNowhere ? since_it_left + 1 : 0;
}
constexpr uint64_t kUntilItIsDone = 100;

// One write only, so that nothing afterwards repairs what it has done.
uint64_t instruction = 0, write_at = 0;
bool behind_the_end = false;
void write_at_one_step(int, siginfo_t*, void* context) {
  note_instruction();
  behind_the_end = since_it_left > kUntilItIsDone;
  if (instruction++ != write_at && !behind_the_end) return;
  testing::step_no_more(context);
  testing::event_at_step(steps++);
}

// Under a sanitizer one instruction in eleven: each of them takes as long as dozens without.
const uint64_t kStride = is_shortened() ? 11 : 1;

TEST(EventSignals, AThreadsEndAtOneInstructionAfterTheOther) {
  for_each_fill({Fill::kLittle, Fill::kMuch}, [](Fill fill) {
    DetailReader reader = DetailReader::of_this_process();
    behind_the_end = false;
    for (write_at = 0; !behind_the_end; write_at += kStride) {
      instruction = since_it_left = 0;
      at_every_step_with_context(write_at_one_step);
      end_a_thread(fill);
      EXPECT_EQ(reader.chunks_in_state(pool::kDetailOwned), 1U) << "written at " << write_at;
    }
    EXPECT_GT(write_at, kUntilItIsDone + 20);
    EXPECT_TRUE(testing::look(reader).steps.contains(steps - 1));
  });
}

// What comes after the chunk was left is long, and forks take long: not all of that.
bool is_worth_a_fork() {
  note_instruction();
  return since_it_left <= kUntilItIsDone || since_it_left % 13 == 0;
}
void fork_if_worth_it(int signal, siginfo_t* info, void* context) {
  if (is_worth_a_fork()) testing::fork_at_step(signal, info, context);
}
void raw_fork_if_worth_it(int signal, siginfo_t* info, void* context) {
  if (is_worth_a_fork()) testing::raw_fork_at_step(signal, info, context);
}
void fork_through_the_end(Fill fill, void (*handler)(int, siginfo_t*, void*)) {
  const uint64_t before = forks;
  since_it_left = 0;
  at_every_step_with_context(handler);
  end_a_thread(fill);
  EXPECT_GT(forks, before + kUntilItIsDone / testing::step_stride);
}

TEST(EventSignals, AThreadsEndForkedAtEveryInstruction) {
  for_each_fill({Fill::kLittle, Fill::kMuch}, [](Fill fill) { fork_through_the_end(fill, fork_if_worth_it); });
}

TEST(EventSignals, AThreadsEndForkedByTheKernelAtEveryInstruction) {
  for_each_fill({Fill::kLittle, Fill::kMuch}, [](Fill fill) { fork_through_the_end(fill, raw_fork_if_worth_it); });
}

}  // namespace
}  // namespace fathom::client

#endif

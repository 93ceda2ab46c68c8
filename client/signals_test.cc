#include <fathom/trace.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <sys/time.h>

#include <atomic>
#include <set>
#include <thread>

#include "base/testing/repetitions.h"
#include "client/process.h"
#include "client/signal_context.h"
#include "client/testing/pool_reader.h"
#include "client/testing/single_step.h"

namespace fathom::client {
namespace {

using testing::PoolReader;
using testing::ReadSpan;

std::atomic<uint64_t> handler_spans{0};
std::atomic<int> depth{0};
std::atomic<uint64_t> answered{0};

void span_in_handler(int signal) {
  depth++;
  if (signal == SIGUSR1) answered++;
  const uint64_t number = handler_spans.fetch_add(1);
  Span span("handler");
  span.set("number", number).set("text", "some words that make it a little longer");
  { const Span inner("nested"); }
  span.end();
  depth--;
}

void on_signal(int signal, void (*handler)(int), int flags) {
  struct sigaction action = {};
  action.sa_handler = handler;
  action.sa_flags = flags;
  ASSERT_EQ(sigaction(signal, &action, nullptr), 0);
}

// As many signals as the kernel delivers, from a timer and from another thread, in one thread that makes spans.
TEST(Signals, SpansInHandlersThatInterruptSpans) {
  PoolReader reader = PoolReader::of_this_process();
  reader.take();
  const uint64_t lost_before = fathom_lost_spans();
  on_signal(SIGUSR1, span_in_handler, SA_RESTART | SA_NODEFER);  // handlers interrupt handlers
  on_signal(SIGALRM, span_in_handler, SA_RESTART);
  std::atomic<bool> done{false};
  std::atomic<uint64_t> made{0};  // outside of handlers
  const pthread_t target = pthread_self();
  std::thread sender([&] {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, nullptr);
    // Not before the one before was begun: where a handler takes long to come to its first line, it would be
    // interrupted there again and again, until the stack is full.
    // Handlers that are at their last line count no longer, but still use the stack until the thread is out of all.
    constexpr uint64_t kMostAtOnce = 8;
    for (uint64_t sent = answered.load(), made_then = made.load(), since = sent; !done.load();) {
      if (made.load() != made_then) made_then = made.load(), since = sent;
      if (depth.load() >= 4 || answered.load() != sent || sent - since >= kMostAtOnce) {
        std::this_thread::yield();  // the handlers may need this processor
        continue;
      }
      sent++;
      pthread_kill(target, SIGUSR1);
    }
  });
  const itimerval often = {{0, 100}, {0, 100}};
  setitimer(ITIMER_REAL, &often, nullptr);
  std::vector<ReadSpan> spans;
  const uint64_t enough = repetitions(4000);
  const auto is_enough = [enough] { return handler_spans.load() >= enough; };
  while (!is_enough()) {
    // If a handler takes longer than the timer's interval, this loop makes almost no progress between handlers.
    for (int i = 0; i < 200 && !is_enough(); i++, made++) {
      Span span("main");
      span.set("number", made.load()).set("text", "some words");
    }
    for (ReadSpan& span : reader.take()) spans.push_back(std::move(span));
  }
  const itimerval never = {};
  setitimer(ITIMER_REAL, &never, nullptr);
  done = true;
  sender.join();
  signal(SIGUSR1, SIG_IGN);
  signal(SIGALRM, SIG_IGN);
  for (ReadSpan& span : reader.take()) spans.push_back(std::move(span));
  EXPECT_TRUE(reader.faults().empty()) << reader.faults()[0];
  EXPECT_EQ(spans.size() + fathom_lost_spans() - lost_before, made + 2 * handler_spans.load());
  std::set<std::string> ids;
  for (const ReadSpan& span : spans) {
    EXPECT_TRUE(ids.insert(span.span_id).second) << "an id twice";
    EXPECT_TRUE(span.name != "nested" || span.parent_span_id != "");
  }
  EXPECT_FALSE(Context::active().has_value()) << "handlers leave the active span as they found it";
}

#if defined(FATHOM_UNLOCKED)

using testing::step_off;
using testing::step_on;

std::atomic<uint64_t> handler_steps{0};
void span_at_step(int) {
  fathom_span span;
  fathom_span_start_here(&span, {"step", 4}, FATHOM_INTERNAL);
  fathom_span_activate(&span);
  fathom_span_set_int(&span, {"number", 6}, static_cast<int64_t>(handler_steps.fetch_add(1)));
  fathom_span_end(&span);
}

void stepped_span_with_attributes(uint64_t number) {
  fathom_span span;
  step_on();
  fathom_span_start_here(&span, {"main", 4}, FATHOM_INTERNAL);
  fathom_span_activate(&span);
  fathom_span_set_int(&span, {"number", 6}, static_cast<int64_t>(number));
  fathom_span_set_string(&span, {"text", 4}, {"sixteen letters.", 16});
  fathom_span_end(&span);
  step_off();
}

// Every instruction of a span's life is interrupted by a whole span. The interrupting ones fill several chunks
// meanwhile, so that retiring, claiming and sealing are interrupted too.
TEST(Signals, AtEveryInstruction) {
  PoolReader reader = PoolReader::of_this_process();
  reader.take();
  on_signal(SIGTRAP, span_at_step, 0);
  const uint64_t lost_before = fathom_lost_spans();
  std::set<std::string> ids, mains, numbers;
  const uint64_t spans = repetitions(60);
  for (uint64_t i = 0; i < spans; i++) {
    stepped_span_with_attributes(i);
    EXPECT_FALSE(Context::active().has_value());
    for (const ReadSpan& span : reader.take()) {
      EXPECT_TRUE(ids.insert(span.span_id).second);
      EXPECT_TRUE((span.name == "main" ? mains : numbers).insert(span.attribute("number")).second);
      EXPECT_TRUE(span.name != "main" || span.attribute("text") == "sixteen letters.");
    }
  }
  signal(SIGTRAP, SIG_DFL);
  EXPECT_EQ(mains.size(), spans);
  EXPECT_EQ(numbers.size(), handler_steps.load());
  EXPECT_GT(handler_steps.load(), spans * 100) << "instructions";
  EXPECT_EQ(fathom_lost_spans(), lost_before);
  EXPECT_TRUE(reader.faults().empty()) << reader.faults()[0];
  // No chunk is left that no thread writes to: after this thread's, all are free.
  EXPECT_LE(reader.chunks_in_state(pool::kOwned), 1U);
  EXPECT_EQ(reader.chunks_in_state(pool::kSealed) + reader.chunks_in_state(pool::kClaimed), 0U);
}

// The library's own destructor runs in the first round; this one's span brings the thread back, and the destructor of
// the second round is interrupted at every instruction.
pthread_key_t step_key;
void step_through_tracers_end(void* rounds) {
  if (++*static_cast<int*>(rounds) == 1) {
    {
      const Span span("back");
    }
    pthread_setspecific(step_key, rounds);
    step_on();
  } else {
    step_off();
  }
}

TEST(Signals, AtEveryInstructionOfAThreadsEnd) {
  PoolReader reader = PoolReader::of_this_process();
  reader.take();
  const uint32_t owned = reader.chunks_in_state(pool::kOwned);
  const uint64_t lost_before = fathom_lost_spans(), steps_before = handler_steps.load();
  on_signal(SIGTRAP, span_at_step, 0);
  ASSERT_EQ(pthread_key_create(&step_key, step_through_tracers_end), 0);
  int rounds = 0;
  std::thread([&] {
    pthread_setspecific(step_key, &rounds);
    const Span span("before");
  }).join();
  pthread_key_delete(step_key);
  signal(SIGTRAP, SIG_DFL);
  EXPECT_EQ(rounds, 2);
  EXPECT_GT(handler_steps.load(), steps_before + 100) << "instructions";
  EXPECT_EQ(reader.take().size(), 2 + handler_steps.load() - steps_before);
  EXPECT_EQ(fathom_lost_spans(), lost_before);
  EXPECT_EQ(reader.chunks_in_state(pool::kOwned), owned);
  EXPECT_EQ(reader.chunks_in_state(pool::kSealed), 0U);
}

#endif

bool seen_in_handler;
void look_from_handler(int) {
  sigset_t now;
  pthread_sigmask(SIG_BLOCK, nullptr, &now);
  seen_in_handler = maybe_in_signal_handler(now);
}
bool maybe_here() {
  sigset_t now;
  pthread_sigmask(SIG_BLOCK, nullptr, &now);
  return maybe_in_signal_handler(now);
}

class InHandler : public ::testing::TestWithParam<int> {};

TEST_P(InHandler, IsRecognised) {
  seen_in_handler = false;
  on_signal(SIGUSR2, look_from_handler, GetParam());
  raise(SIGUSR2);
  EXPECT_TRUE(seen_in_handler);
  signal(SIGUSR2, SIG_DFL);
}
INSTANTIATE_TEST_SUITE_P(Flags, InHandler, ::testing::Values(0, SA_NODEFER, SA_RESTART | SA_SIGINFO));

TEST(NotInHandler, IsRecognisedToo) {
  EXPECT_FALSE(maybe_here());
}

// Servers block their signals in all threads but one: that is no handler.
TEST(NotInHandler, AlthoughTheSignalIsBlocked) {
  std::thread([] {
    on_signal(SIGUSR2, look_from_handler, 0);
    sigset_t blocked;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGUSR2);
    pthread_sigmask(SIG_BLOCK, &blocked, nullptr);
    EXPECT_FALSE(maybe_here());
    signal(SIGUSR2, SIG_DFL);
  }).join();
}

TEST(InHandlerOnItsOwnStack, IsRecognised) {
  static char memory[65536];
  const stack_t stack = {memory, 0, sizeof memory};
  ASSERT_EQ(sigaltstack(&stack, nullptr), 0);
  seen_in_handler = false;
  on_signal(SIGUSR2, look_from_handler, SA_ONSTACK);
  raise(SIGUSR2);
  EXPECT_TRUE(seen_in_handler);
  signal(SIGUSR2, SIG_DFL);
  const stack_t none = {nullptr, SS_DISABLE, 0};
  sigaltstack(&none, nullptr);
}

}  // namespace
}  // namespace fathom::client

// fathom::trigger(), and the mark of a program that came to its orderly end.
#include <fathom/trace.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <set>
#include <thread>

#include "client/open_spans.h"
#include "client/testing/open_reader.h"
#include "client/testing/own_process.h"
#include "client/testing/single_step.h"
#include "client/testing/stepped_forks.h"

namespace fathom::client {
namespace {

using testing::forks;
using testing::in_own_process;
using testing::is_child;
using testing::OpenReader;
using testing::ReadNote;

TEST(Trigger, SaysWhoAndWhyInWhichSpan) {
  in_own_process([] {
    const uint64_t before = ticks();
    {
      const Span span("slow");
      trigger("cache is cold");
      const ReadNote note = OpenReader::of_this_process().notes().at(0);
      EXPECT_EQ(note.reason, "cache is cold");
      EXPECT_EQ(note.tid, static_cast<uint32_t>(gettid()));
      EXPECT_EQ("00-" + note.trace_id + "-" + note.span_id + "-03", span.context().traceparent());
      EXPECT_TRUE(note.ticks >= before && note.ticks <= ticks());
    }
    trigger();
    const std::vector<ReadNote> notes = OpenReader::of_this_process().notes();
    ASSERT_EQ(notes.size(), 2U);
    EXPECT_EQ(notes[1].reason, "");
    EXPECT_EQ(notes[1].span_id, std::string(16, '0'));
  });
}

TEST(Trigger, TheLastOnesAreThereAndLongReasonsAreCut) {
  in_own_process([] {
    for (int i = 0; i < 100; i++) trigger(std::to_string(i) + std::string(static_cast<size_t>(i), 'x'));
    const std::vector<ReadNote> notes = OpenReader::of_this_process().notes();
    ASSERT_EQ(notes.size(), pool::kTriggerNotes);
    for (const ReadNote& note : notes) {
      const std::string whole = std::to_string(note.ticket) + std::string(note.ticket, 'x');
      EXPECT_EQ(note.reason, whole.substr(0, sizeof(pool::TriggerNote::reason)));
    }
    EXPECT_EQ(notes.back().ticket, 99U);
  });
}

// Each note is some thread's, whole, whoever writes to the same place.
TEST(Trigger, FromManyThreadsAtOnce) {
  in_own_process([] {
    trigger("first");
    const OpenReader reader = OpenReader::of_this_process();
    std::vector<std::thread> threads;
    std::atomic<int> running{4};
    for (int t = 0; t < 4; t++) {
      threads.emplace_back([&, t] {
        const std::string reason(40, static_cast<char>('a' + t));
        for (int i = 0; i < 20'000; i++) trigger(reason);
        running--;
      });
    }
    uint64_t torn = 0, seen = 0;
    while (running.load() > 0) {
      for (const ReadNote& note : reader.notes()) {
        seen++;
        const std::string alike(note.reason.size(), note.reason[0]);
        torn += note.reason != alike && note.reason != "first" ? 1 : 0;
      }
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(torn, 0U) << "of " << seen;
    EXPECT_FALSE(reader.notes().empty());
  });
}

#if defined(FATHOM_UNLOCKED)

uint64_t handler_triggers = 0;
TEST(Trigger, AtEveryInstruction) {
  in_own_process([] {
    trigger("first");
    testing::at_every_step([](int) {
      trigger("step " + std::to_string(++handler_triggers));
      for (const ReadNote& note : OpenReader::of_this_process().notes()) {
        EXPECT_TRUE(note.reason == "main" || note.reason == "first" || note.reason.rfind("step ", 0) == 0)
            << note.reason;
      }
    });
    testing::step_on();
    fathom_trigger({"main", 4});
    testing::step_off();
    EXPECT_GT(handler_triggers, 30U);
    // The interrupted one was still at its place when its turn came again.
    EXPECT_GE(OpenReader::of_this_process().notes().size(), pool::kTriggerNotes - 1);
  });
}

void fork_trigger_at_step(int, siginfo_t*, void* context) {
  if (is_child) return;
  const pid_t child = fork();
  if (child == 0) {
    testing::step_no_more(context);
    is_child = true;
    return;
  }
  testing::expect_good_child(child);
}
// The child goes on with the note, which is nobody's, and makes one of its own.
TEST(Trigger, ForkedAtEveryInstruction) {
  in_own_process([] {
    trigger("first");
    testing::at_every_step_with_context(fork_trigger_at_step);
    testing::step_on();
    fathom_trigger({"main", 4});
    testing::step_off();
    if (is_child) {
      trigger("child");
      const std::vector<ReadNote> notes = OpenReader::of_this_process().notes();
      _exit(notes.empty() || notes.back().reason != "child" ? 1 : 0);
    }
    EXPECT_GT(forks, 30U);
    EXPECT_EQ(OpenReader::of_this_process().notes().size(), 2U) << "no child wrote there";
  });
}

#endif

// The pool outlives the program: the parent looks at it afterwards.
bool ended_mark_after(void (*end)()) {
  int ends[2];
  EXPECT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    {
      const Span span("some");
    }
    const int fd = live().pool_fd_plus_one.load() - 1;
    const uint64_t said[2] = {static_cast<uint64_t>(getpid()), static_cast<uint64_t>(fd)};
    if (write(ends[1], said, sizeof said) != sizeof said) _exit(9);
    close(ends[1]);
    // Until the parent has the file: it says so by this word.
    while (reinterpret_cast<pool::Header*>(live().pool.load())->reader.load() != 42) usleep(1000);
    end();
    _exit(8);
  }
  uint64_t said[2];
  EXPECT_EQ(read(ends[0], said, sizeof said), static_cast<ssize_t>(sizeof said));
  const std::string path = "/proc/" + std::to_string(said[0]) + "/fd/" + std::to_string(said[1]);
  const int fd = open(path.c_str(), O_RDWR | O_CLOEXEC);
  EXPECT_GE(fd, 0);
  void* base = mmap(nullptr, pool_geometry().bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  EXPECT_NE(base, MAP_FAILED);
  static_cast<pool::Header*>(base)->reader.store(42);
  int status;
  waitpid(child, &status, 0);
  const bool ended = OpenReader(static_cast<const char*>(base)).ended();
  munmap(base, pool_geometry().bytes);
  close(fd);
  close(ends[0]);
  close(ends[1]);
  return ended;
}

TEST(OrderlyEnd, IsMarkedAfterExit) {
  EXPECT_TRUE(ended_mark_after([] { std::exit(0); }));
}
TEST(OrderlyEnd, IsNotMarkedOtherwise) {
  EXPECT_FALSE(ended_mark_after([] { _exit(0); }));
  EXPECT_FALSE(ended_mark_after([] { raise(SIGKILL); }));
  EXPECT_FALSE(ended_mark_after([] {
    signal(SIGABRT, SIG_DFL);
    std::abort();
  }));
  EXPECT_FALSE(ended_mark_after([] { execl("/bin/true", "true", nullptr); }));
}

}  // namespace
}  // namespace fathom::client

#include "snapshot/record/pt/trigger_bell.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/mman.h>
#include <unistd.h>

#include <set>
#include <thread>

namespace fathom::snapshot {
namespace {

bool rung(const TriggerBell& bell) {
  pollfd event{bell.poll_descriptor(), POLLIN, 0};
  return ::poll(&event, 1, 0) == 1;
}

Fd copy_of(int descriptor) {
  return Fd(::fcntl(descriptor, F_DUPFD_CLOEXEC, 0));
}

TEST(TriggerBell, WakesAndSaysWho) {
  auto recorder = TriggerBell::make();
  ASSERT_TRUE(recorder.ok());
  auto program = TriggerBell::attach(copy_of(recorder->page()), copy_of(recorder->poll_descriptor()));
  ASSERT_TRUE(program.ok());
  EXPECT_FALSE(rung(*recorder));
  Id<16> trace;
  trace.bytes[3] = 7;
  program->ring(BellReason::kOverdue, trace, {});
  EXPECT_TRUE(rung(*recorder));
  const auto requests = recorder->answer();
  ASSERT_EQ(requests.size(), 1u);
  EXPECT_EQ(requests[0].tid, ::gettid());
  EXPECT_EQ(requests[0].trace_id, trace);
  EXPECT_EQ(requests[0].reason, static_cast<uint32_t>(BellReason::kOverdue));
  EXPECT_GE(requests[0].cpu, 0);
  EXPECT_FALSE(rung(*recorder));
  EXPECT_TRUE(recorder->answer().empty());
}

TEST(TriggerBell, MoreThanItHoldsAreCounted) {
  auto bell = TriggerBell::make();
  ASSERT_TRUE(bell.ok());
  for (int i = 0; i < 100; ++i) bell->ring(BellReason::kProgram, {}, {});
  EXPECT_EQ(bell->answer().size(), TriggerBell::kSlots);
  EXPECT_EQ(bell->missed(), 100 - TriggerBell::kSlots);
}

TEST(TriggerBell, ManyThreadsAreEachAnsweredOrMissed) {
  auto bell = TriggerBell::make();
  ASSERT_TRUE(bell.ok());
  constexpr uint64_t kEach = 3000;
  std::thread threads[3];
  for (std::thread& thread : threads) {
    thread = std::thread([&] {
      for (uint64_t i = 0; i < kEach; ++i) bell->ring(BellReason::kProgram, {}, {});
    });
  }
  uint64_t answered = 0;
  for (int round = 0; round < 2000; ++round) answered += bell->answer().size();
  for (std::thread& thread : threads) thread.join();
  answered += bell->answer().size();
  EXPECT_EQ(answered + bell->missed(), 3 * kEach);
}

TEST(TriggerBell, ASharedPageOfNonsenseIsHarmless) {
  auto bell = TriggerBell::make();
  ASSERT_TRUE(bell.ok());
  auto* page = static_cast<uint64_t*>(::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, bell->page(), 0));
  ASSERT_NE(page, MAP_FAILED);
  for (const uint64_t next : {uint64_t{5}, UINT64_MAX, uint64_t{0}, uint64_t{1} << 40}) {
    page[0] = next;
    EXPECT_LE(bell->answer().size(), TriggerBell::kSlots);
  }
  ::munmap(page, 4096);
}

TEST(TriggerBell, OtherFilesAreNoPage) {
  EXPECT_FALSE(TriggerBell::attach(Fd(::memfd_create("x", MFD_CLOEXEC)), Fd()).ok());
}

}  // namespace
}  // namespace fathom::snapshot

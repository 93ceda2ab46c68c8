// With the kernel itself; skipped, and said so, where it does not let us.
#include "node-agent/kernel/kernel_recorder.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <functional>
#include <optional>
#include <thread>

#include "base/time.h"
#include "node-agent/kernel/bpf_programs.h"
#include "node-agent/kernel/kernel_availability.h"
#include "node-agent/testing/child_of_test.h"

namespace fathom::agent {
namespace {

using testing::ChildOfTest;
using Link = ChildOfTest::Link;
using Kind = KernelEventKind;

constexpr uint64_t kPatienceNano = 120 * kNanosPerSecond;  // against hanging only
constexpr long kUnusedPid = 12'345'678;                    // no process is called so
constexpr size_t kPages = 16;

std::string why_not_here() {
  for (const Availability& source : kernel_availability()) {
    if (!source.available) return source.name + ": " + source.why_not + "; " + source.cure;
  }
  return "";
}

class KernelRecorderTest : public ::testing::Test {
 protected:
  void SetUp() override {
    static const std::string why_not = why_not_here();
    if (!why_not.empty()) GTEST_SKIP() << "the kernel's events cannot be recorded here: " << why_not;
    auto recorder = KernelRecorder::create({.ring_bytes_per_cpu = 1 << 20});
    ASSERT_TRUE(recorder) << recorder.error().message;
    recorder_ = *std::move(recorder);
  }

  KernelSnapshot snapshot(const ProcessId& process) { return recorder_->snapshot({.processes = {process}}); }

  std::unique_ptr<KernelRecorder> recorder_;
};

size_t count(const KernelSnapshot& snapshot, const std::function<bool(const KernelEvent&)>& holds) {
  return static_cast<size_t>(std::ranges::count_if(snapshot.events, holds));
}

bool is_call(const KernelEvent& event, long number, uint64_t first) {
  return event.kind == Kind::kSyscall && event.syscall == number && event.arguments[0] == first;
}

void call_nobody(int times) {
  for (int i = 0; i < times; ++i) ::syscall(SYS_getpgid, kUnusedPid + i);
}

TEST_F(KernelRecorderTest, SystemCallsOfAChosenProcess) {
  ChildOfTest child([](const Link& link) {
    link.await();
    call_nobody(100);
    link.say();
    link.await();
  });
  const uint64_t before = now_monotonic_nano();
  auto process = recorder_->choose(child.pid());
  ASSERT_TRUE(process) << process.error().message;
  child.go();
  ASSERT_TRUE(child.wait_until_said());
  KernelSnapshot seen = snapshot(*process);
  for (uint64_t i = 0; i < 100; ++i) {
    const uint64_t first = kUnusedPid + i;
    auto found = std::ranges::find_if(seen.events, [&](auto& event) { return is_call(event, SYS_getpgid, first); });
    ASSERT_NE(found, seen.events.end()) << i;
    EXPECT_EQ(found->pid, child.pid());
    EXPECT_EQ(found->tid, child.pid());
    EXPECT_EQ(found->result, -ESRCH);
    EXPECT_GE(found->start_nano, before);
    EXPECT_GE(found->monotonic_nano, found->start_nano);
    EXPECT_LE(found->monotonic_nano, now_monotonic_nano());
  }
  EXPECT_TRUE(std::ranges::is_sorted(seen.events, {}, &KernelEvent::monotonic_nano));
  EXPECT_EQ(seen.losses.overwritten + seen.losses.left_out + seen.losses.no_slot, 0U);
}

uint64_t reported(const std::string& name) {
  for (const auto& [loss, many] : kernel_losses()) {
    if (loss == name) return many;
  }
  return 0;
}

TEST_F(KernelRecorderTest, ReportsHaveTheSumOfTheLossesOfSnapshots) {
  ChildOfTest child([](const Link& link) {
    link.await();
    call_nobody(100);
    link.say();
    link.await();
  });
  auto process = recorder_->choose(child.pid());
  ASSERT_TRUE(process) << process.error().message;
  child.go();
  ASSERT_TRUE(child.wait_until_said());
  const uint64_t before = reported("kernel_left_out");
  const SnapshotRequest few{.processes = {*process}, .most_events = 10};
  const uint64_t first = recorder_->snapshot(few).losses.left_out, second = recorder_->snapshot(few).losses.left_out;
  EXPECT_GE(first, 90U);
  EXPECT_EQ(reported("kernel_left_out") - before, first + second);
}

TEST_F(KernelRecorderTest, NothingOfOthers) {
  auto body = [](const Link& link) {
    link.await();
    call_nobody(100);
    link.say();
    link.await();
  };
  ChildOfTest chosen(body), other(body);
  auto process = recorder_->choose(chosen.pid());
  ASSERT_TRUE(process);
  for (ChildOfTest* child : {&chosen, &other}) child->go();
  for (ChildOfTest* child : {&chosen, &other}) ASSERT_TRUE(child->wait_until_said());
  KernelSnapshot seen = recorder_->snapshot({});
  EXPECT_GT(seen.events.size(), 100U);
  EXPECT_EQ(count(seen, [&](auto& event) { return event.pid != chosen.pid() && event.other_pid != chosen.pid(); }), 0U);
  EXPECT_EQ(count(seen, [&](auto& event) { return event.kind != Kind::kSwitch && event.pid != chosen.pid(); }), 0U);
}

// Asleep until it is told to go on: there is nothing else that it sleeps in.
bool wait_until_asleep(pid_t pid) {
  const uint64_t deadline = now_monotonic_nano() + kPatienceNano;
  while (now_monotonic_nano() < deadline) {
    std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
    std::string text;
    std::getline(file, text);
    std::optional<ProcessStat> stat = parse_process_stat(text);
    if (stat && stat->state == 'S') return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return false;
}

TEST_F(KernelRecorderTest, ACallThatHasNotEnded) {
  ChildOfTest child([](const Link& link) {
    link.say();
    link.await();
    link.say();
    link.await();
  });
  ASSERT_TRUE(child.wait_until_said());
  ASSERT_TRUE(wait_until_asleep(child.pid()));
  auto process = recorder_->choose(child.pid());
  ASSERT_TRUE(process);
  child.go();
  ASSERT_TRUE(child.wait_until_said());
  auto is_waiting = [&](const KernelEvent& event) {
    return event.kind == Kind::kSyscallUnderWay && event.syscall == SYS_read && event.tid == child.pid();
  };
  const uint64_t deadline = now_monotonic_nano() + kPatienceNano;
  KernelSnapshot seen;
  while (count(seen = snapshot(*process), is_waiting) == 0 && now_monotonic_nano() < deadline)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  ASSERT_EQ(count(seen, is_waiting), 1U);
  const KernelEvent waits = *std::ranges::find_if(seen.events, is_waiting);
  EXPECT_LE(waits.start_nano, waits.monotonic_nano);
  // The wait that it was in when it was chosen has ended; when it had begun, nobody saw.
  EXPECT_EQ(count(seen, [](auto& e) { return e.kind == Kind::kSyscall && e.syscall == SYS_read && e.start_nano == 0; }),
            1U);
  child.go();
  child.wait_for_end();
  seen = snapshot(*process);
  EXPECT_EQ(count(seen, [&](auto& event) { return is_call(event, SYS_read, waits.arguments[0]); }), 1U);
}

TEST_F(KernelRecorderTest, SwitchesAndWakes) {
  ChildOfTest child([](const Link& link) {
    for (;;) link.await(), link.say();
  });
  auto process = recorder_->choose(child.pid());
  ASSERT_TRUE(process);
  for (int i = 0; i < 20; ++i) {
    child.go();
    ASSERT_TRUE(child.wait_until_said());
  }
  KernelSnapshot seen = snapshot(*process);
  const pid_t pid = child.pid();
  auto sleeps = [&](auto& e) { return e.kind == Kind::kSwitch && e.tid == pid && e.reason == SwitchReason::kSleeps; };
  EXPECT_GT(count(seen, sleeps), 0U);
  EXPECT_GT(count(seen, [&](auto& e) { return e.kind == Kind::kSwitch && e.other_tid == pid; }), 0U);
  auto by_us = [&](auto& e) { return e.kind == Kind::kWake && e.tid == pid && e.other_pid == ::getpid(); };
  ASSERT_GT(count(seen, by_us), 0U);
  char name[16] = {};
  ::pthread_getname_np(::pthread_self(), name, sizeof name);
  EXPECT_EQ(std::ranges::find_if(seen.events, by_us)->name, name);
}

TEST_F(KernelRecorderTest, ATimerIsAnInterruptAndNoProcess) {
  if (!kernel::knows_interrupts()) {
    GTEST_SKIP() << "this kernel's BTF does not say where a processor counts the interrupts that it is in: wake-ups by "
                    "them look like those by who ran then";
  }
  constexpr uint64_t kTimes = 20;
  ChildOfTest child([](const Link& link) {
    link.await();
    for (uint64_t i = 0; i < kTimes; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    link.say();
    link.await();
  });
  auto process = recorder_->choose(child.pid());
  ASSERT_TRUE(process);
  child.go();
  ASSERT_TRUE(child.wait_until_said());
  KernelSnapshot seen = snapshot(*process);
  auto by_interrupt = [](auto& e) { return e.kind == Kind::kWake && e.other_tid == 0 && e.other_pid == 0; };
  EXPECT_GE(count(seen, by_interrupt) + seen.losses.missed, kTimes);
  for (const KernelEvent& event : seen.events) EXPECT_FALSE(by_interrupt(event) && event.name.starts_with("swapper"));
}

TEST_F(KernelRecorderTest, PageFaultsWithTheirAddresses) {
  void* memory = ::mmap(nullptr, kPages * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  ::madvise(memory, kPages * 4096, MADV_NOHUGEPAGE);
  ChildOfTest child([=](const Link& link) {
    link.await();
    for (size_t i = 0; i < kPages; ++i) static_cast<volatile char*>(memory)[i * 4096 + i] = 1;
    link.say();
    link.await();
  });
  auto process = recorder_->choose(child.pid());
  ASSERT_TRUE(process);
  child.go();
  ASSERT_TRUE(child.wait_until_said());
  KernelSnapshot seen = snapshot(*process);
  for (size_t i = 0; i < kPages; ++i) {
    const auto address = reinterpret_cast<uint64_t>(memory) + i * 4096 + i;
    EXPECT_EQ(count(seen,
                    [&](auto& e) {
                      return e.kind == Kind::kUserFault && e.address == address && (e.fault & kFaultWrite) != 0 &&
                             e.instruction != 0;
                    }),
              1U)
        << "page " << i;
  }
  ::munmap(memory, kPages * 4096);
}

void* named_thread(void*) {
  ::pthread_setname_np(::pthread_self(), "worker");
  call_nobody(1);
  return nullptr;
}

TEST_F(KernelRecorderTest, ThreadsAndChildren) {
  ChildOfTest child([](const Link& link) {
    link.await();
    pthread_t thread;
    if (::pthread_create(&thread, nullptr, named_thread, nullptr) == 0) ::pthread_join(thread, nullptr);
    if (const pid_t grandchild = ::fork(); grandchild == 0) {
      ::syscall(SYS_getpgid, kUnusedPid + 1);
      ::_exit(0);
    } else {
      ::waitpid(grandchild, nullptr, 0);
    }
    link.say();
    link.await();
  });
  auto process = recorder_->choose(child.pid());
  ASSERT_TRUE(process);
  child.go();
  ASSERT_TRUE(child.wait_until_said());
  KernelSnapshot seen = recorder_->snapshot({});
  auto of_thread = [&](Kind kind) {
    return std::ranges::find_if(
        seen.events, [&](auto& e) { return e.kind == kind && e.pid == child.pid() && e.tid != child.pid(); });
  };
  const auto end = seen.events.end();
  const auto started = of_thread(Kind::kThreadStart), renamed = of_thread(Kind::kRename),
             exited = of_thread(Kind::kThreadExit);
  ASSERT_TRUE(started != end && renamed != end && exited != end);
  EXPECT_EQ(started->other_tid, child.pid());
  EXPECT_EQ(renamed->name, "worker");
  EXPECT_EQ(exited->name, "worker");
  EXPECT_EQ(exited->tid, started->tid);
  EXPECT_EQ(count(seen, [&](auto& e) { return is_call(e, SYS_getpgid, kUnusedPid) && e.tid == started->tid; }), 1U);
  EXPECT_EQ(count(seen, [&](auto& e) { return is_call(e, SYS_getpgid, kUnusedPid + 1); }), 0U) << "a child of its own";
  EXPECT_EQ(count(seen, [&](auto& e) { return e.kind == Kind::kProcessStart && e.pid == child.pid(); }), 1U);
  EXPECT_TRUE(std::ranges::any_of(seen.threads,
                                  [&](auto& thread) { return thread.tid == started->tid && thread.name == "worker"; }));
}

TEST_F(KernelRecorderTest, AProcessThatEndedIsNoLongerChosen) {
  ChildOfTest child([](const Link& link) {
    link.await();
    call_nobody(1);
  });
  auto process = recorder_->choose(child.pid());
  ASSERT_TRUE(process);
  EXPECT_EQ(recorder_->chosen(), std::vector<ProcessId>{*process});
  child.go();
  child.wait_for_end();
  EXPECT_TRUE(recorder_->chosen().empty());
  KernelSnapshot seen = snapshot(*process);
  EXPECT_EQ(count(seen, [](auto& e) { return is_call(e, SYS_getpgid, kUnusedPid); }), 1U)
      << "its last moments are kept";
  EXPECT_EQ(count(seen, [](auto& e) { return e.kind == Kind::kThreadExit; }), 1U);
  EXPECT_EQ(count(seen, [](auto& e) { return e.kind == Kind::kSyscallUnderWay; }), 0U);
}

std::optional<int> status_of(const KernelRecorder& recorder, const std::function<void(const Link&)>& body) {
  ChildOfTest child([&](const Link& link) {
    link.await();
    body(link);
  });
  const ProcessId process = identify_process(child.pid());
  EXPECT_EQ(recorder.exit_status(process), std::nullopt) << "it has not ended";
  child.go();
  child.wait_for_end();
  return recorder.exit_status(process);
}

TEST_F(KernelRecorderTest, HowAProcessEndsIsKnownOfThoseThatAreNotChosenToo) {
  EXPECT_EQ(status_of(*recorder_, [](const Link&) { ::_exit(0); }), std::nullopt) << "no process is chosen";
  const ChildOfTest chosen([](const Link& link) { link.await(); });
  ASSERT_TRUE(recorder_->choose(chosen.pid()));
  EXPECT_EQ(status_of(*recorder_, [](const Link&) { ::_exit(0); }), 0);
  EXPECT_EQ(status_of(*recorder_, [](const Link&) { ::_exit(3); }), 3 << 8);
  EXPECT_EQ(status_of(*recorder_, [](const Link&) { ::raise(SIGKILL); }), SIGKILL);
  auto ends_in_a_thread = [](const Link& link) {
    std::thread([] { ::_exit(4); }).detach();
    link.await();
  };
  EXPECT_EQ(status_of(*recorder_, ends_in_a_thread), 4 << 8);
}

TEST_F(KernelRecorderTest, AnotherProgramInTheSameProcess) {
  ChildOfTest child([](const Link& link) {
    link.await();
    char* words[] = {const_cast<char*>("/bin/true"), nullptr};
    ::execv(words[0], words);
  });
  auto process = recorder_->choose(child.pid());
  ASSERT_TRUE(process);
  child.go();
  child.wait_for_end();
  KernelSnapshot seen = snapshot(*process);
  auto executed = std::ranges::find_if(seen.events, [](auto& e) { return e.kind == Kind::kExec; });
  ASSERT_NE(executed, seen.events.end());
  EXPECT_EQ(executed->name, "true");
  auto after = [&](auto& e) { return e.kind == Kind::kSyscall && e.start_nano > executed->monotonic_nano; };
  EXPECT_GT(count(seen, after), 0U);
  EXPECT_EQ(std::ranges::count_if(seen.threads, [](auto& thread) { return thread.name == "true"; }), 1);
}

// Whoever asks, and whatever goes on meanwhile; a thread's choices are its own.
TEST_F(KernelRecorderTest, ManyWhoChooseAndAsk) {
  auto rest = [](const Link& link) { link.await(); };
  ChildOfTest first(rest), second(rest);
  auto work = [&](pid_t pid) {
    for (int i = 0; i < 20; ++i) {
      auto process = recorder_->choose(pid);
      ASSERT_TRUE(process);
      recorder_->snapshot({.processes = {*process}});
      recorder_->forget(*process);
    }
  };
  std::thread one([&] { work(first.pid()); });
  std::thread other([&] { work(second.pid()); });
  one.join();
  other.join();
  EXPECT_TRUE(recorder_->chosen().empty());
}

TEST_F(KernelRecorderTest, ForgottenAndChosenAgain) {
  ChildOfTest child([](const Link& link) {
    for (int i = 0; i < 3; ++i) link.await(), ::syscall(SYS_getpgid, kUnusedPid + i), link.say();
    link.await();
  });
  auto process = recorder_->choose(child.pid());
  ASSERT_TRUE(process);
  auto turn = [&] {
    child.go();
    ASSERT_TRUE(child.wait_until_said());
  };
  turn();
  recorder_->forget({child.pid(), process->started_ticks + 1});  // another, of this number
  ASSERT_EQ(recorder_->chosen().size(), 1U);
  recorder_->forget(*process);
  turn();
  ASSERT_TRUE(recorder_->choose(child.pid()));
  EXPECT_EQ(*recorder_->choose(child.pid()), *process) << "twice is the same";
  turn();
  KernelSnapshot seen = snapshot(*process);
  for (long i = 0; i < 3; ++i) {
    EXPECT_EQ(count(seen, [&](auto& e) { return is_call(e, SYS_getpgid, kUnusedPid + i); }), i == 1 ? 0U : 1U) << i;
  }
}

TEST_F(KernelRecorderTest, RefusesWhatIsNoProcess) {
  auto refused = recorder_->choose(static_cast<pid_t>(kUnusedPid));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kNotFound);
  EXPECT_FALSE(recorder_->choose(0));
  EXPECT_FALSE(recorder_->choose(-5));
  std::thread thread([&] { EXPECT_FALSE(recorder_->choose(::gettid())) << "a thread is no process"; });
  thread.join();
}

// The rings go round many times beside snapshots: what is read is whole, and what is missing is said.
TEST_F(KernelRecorderTest, SnapshotsOfAProcessThatNeverRests) {
  auto small = KernelRecorder::create({.ring_bytes_per_cpu = kernel::kLeastRingBytes});
  ASSERT_TRUE(small);
  ChildOfTest child([](const Link& link) {
    link.await();
    link.say();
    for (;;) call_nobody(1000);
  });
  auto process = (*small)->choose(child.pid());
  ASSERT_TRUE(process);
  child.go();
  ASSERT_TRUE(child.wait_until_said());
  const uint64_t begin = now_monotonic_nano();
  KernelSnapshot seen;
  const uint64_t deadline = begin + kPatienceNano;
  auto take = [&] { return seen = (*small)->snapshot({.begin_nano = begin, .processes = {*process}}); };
  while (take().complete_from_nano == begin && now_monotonic_nano() < deadline) {
  }
  EXPECT_GT(seen.complete_from_nano, begin);
  for (int round = 0; round < 200; ++round) {
    take();
    for (const KernelEvent& event : seen.events) {
      if (event.kind != Kind::kSyscall || event.syscall != SYS_getpgid || event.start_nano == 0) continue;
      ASSERT_LT(event.arguments[0] - kUnusedPid, 1000U);
      ASSERT_EQ(event.result, -ESRCH);
      ASSERT_LE(event.start_nano, event.monotonic_nano);
    }
  }
}

TEST_F(KernelRecorderTest, WithoutSystemCalls) {
  auto without = KernelRecorder::create({.system_calls = false});
  ASSERT_TRUE(without) << without.error().message;
  ChildOfTest child([](const Link& link) {
    for (;;) link.await(), call_nobody(1), link.say();
  });
  ASSERT_TRUE((*without)->choose(child.pid()));
  for (int i = 0; i < 20; ++i) {
    child.go();
    ASSERT_TRUE(child.wait_until_said());
  }
  KernelSnapshot seen = (*without)->snapshot({});
  EXPECT_EQ(count(seen, [](auto& e) { return e.kind == Kind::kSyscall || e.kind == Kind::kSyscallUnderWay; }), 0U);
  EXPECT_GT(count(seen, [](auto& e) { return e.kind == Kind::kSwitch; }), 0U);
}

TEST(KernelRecorderOptions, RingsFitTheHost) {
  constexpr uint64_t kMiB = 1 << 20;
  EXPECT_EQ(ring_bytes_of({}, 2), 4 * kMiB);
  EXPECT_EQ(ring_bytes_of({}, 128), kMiB);
  EXPECT_EQ(ring_bytes_of({.ring_bytes_per_cpu = 5 * kMiB}, 2), 4 * kMiB);
  EXPECT_EQ(ring_bytes_of({.ring_bytes_per_cpu = 1}, 2), kernel::kLeastRingBytes);
  EXPECT_EQ(ring_bytes_of({.ring_bytes_per_cpu = UINT64_MAX, .most_ring_bytes = UINT64_MAX}, 1), 256 * kMiB);
}

}  // namespace
}  // namespace fathom::agent

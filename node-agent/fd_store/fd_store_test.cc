#include "node-agent/fd_store/fd_store.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

#include "base/metrics.h"
#include "node-agent/testing/fake_supervisor.h"

namespace fathom::agent {
namespace {

using testing::FakeSupervisor;

TEST(FdStore, SendsADescriptorUnderItsName) {
  FakeSupervisor supervisor;
  FdStore store(supervisor.address());
  ASSERT_TRUE(store.keeps());
  Fd file(::memfd_create("kept", MFD_CLOEXEC));
  store.store("pool-1", file.get());
  auto message = supervisor.take();
  ASSERT_TRUE(message);
  EXPECT_EQ(message->text, "FDSTORE=1\nFDPOLL=0\nFDNAME=pool-1\n");
  EXPECT_TRUE(message->descriptor.open());
  store.remove("never-stored");
  store.remove("pool-1");
  message = supervisor.take();
  ASSERT_TRUE(message);
  EXPECT_EQ(message->text, "FDSTOREREMOVE=1\nFDNAME=pool-1\n");
  EXPECT_FALSE(message->descriptor.open());
}

TEST(FdStore, WhatTheQueueHasNoRoomForIsSentLaterInOrder) {
  FakeSupervisor supervisor;
  FdStore store(supervisor.address());
  Fd file(::memfd_create("kept", MFD_CLOEXEC));
  int sent = 0;
  for (; store.waiting() < 3 && sent < 100'000; ++sent) store.store("pool-" + std::to_string(sent), file.get());
  ASSERT_EQ(store.waiting(), 3u);
  for (int i = 0; i < sent; ++i) {
    auto message = supervisor.take();
    ASSERT_TRUE(message) << i;
    EXPECT_NE(message->text.find("FDNAME=pool-" + std::to_string(i) + "\n"), std::string::npos);
    store.retry();
  }
  EXPECT_EQ(store.waiting(), 0u);
}

uint64_t not_stored(const char* reason) {
  return counter("fathom_agent_not_stored_total", "", label("reason", reason)).value();
}

// Stores more and more until the supervisor's queue is full; how many went out.
int fill_queue(FdStore& store, int descriptor) {
  int sent = 0;
  while (store.waiting() == 0 && sent < 100'000) store.store("pool-" + std::to_string(sent++), descriptor);
  return sent - 1;
}

TEST(FdStore, NamesStayBelowWhatTheNextStartCanBeGiven) {
  FakeSupervisor supervisor;
  FdStore store(supervisor.address());
  Fd file(::memfd_create("kept", MFD_CLOEXEC));
  uint64_t before = not_stored("names");
  std::string name(200, 'n');
  store.is_stored(name + "-of a predecessor");
  size_t bytes = name.size() + 18;
  for (int i = 0; not_stored("names") == before && i < 10'000; ++i) {
    store.store(name + std::to_string(1'000 + i), file.get());
    while (std::optional<FakeSupervisor::Message> message = supervisor.take()) bytes += name.size() + 5;
  }
  EXPECT_EQ(not_stored("names") - before, 1u);
  EXPECT_LE(bytes, FdStore::kMostNamesBytes);
  EXPECT_GT(bytes, FdStore::kMostNamesBytes - 300);
  store.remove(name + "1000");
  store.store(name + "again", file.get());
  EXPECT_EQ(not_stored("names") - before, 1u) << "what is removed leaves room";
}

TEST(FdStore, WhatWaitsIsBounded) {
  FakeSupervisor supervisor;
  FdStore store(supervisor.address());
  Fd file(::memfd_create("kept", MFD_CLOEXEC));
  fill_queue(store, file.get());
  uint64_t before = not_stored("queue");
  for (size_t i = 1; i < FdStore::kMostWaiting; ++i) store.store("more-" + std::to_string(i), file.get());
  EXPECT_EQ(not_stored("queue") - before, 0u);
  store.store("too-much", file.get());
  EXPECT_EQ(not_stored("queue") - before, 1u);
  EXPECT_EQ(store.waiting(), FdStore::kMostWaiting);
}

TEST(FdStore, WhatComesAndGoesWhileTheSupervisorSleepsLeavesNothing) {
  FakeSupervisor supervisor;
  FdStore store(supervisor.address());
  Fd file(::memfd_create("kept", MFD_CLOEXEC));
  int sent = fill_queue(store, file.get());
  for (int i = 0; i < 1000; ++i) {
    store.store("short-lived", file.get());
    store.remove("short-lived");
  }
  EXPECT_EQ(store.waiting(), 1u);
  store.remove("pool-0");  // the supervisor has it
  EXPECT_EQ(store.waiting(), 2u);
  for (int i = 0; i < sent; ++i) ASSERT_TRUE(supervisor.take()) << i;
  store.retry();
  ASSERT_TRUE(supervisor.take());
  EXPECT_EQ(supervisor.take()->text, "FDSTOREREMOVE=1\nFDNAME=pool-0\n");
  EXPECT_FALSE(supervisor.take());
}

TEST(FdStore, WithoutADescriptorForItsCopyAPoolIsCounted) {
  FakeSupervisor supervisor;
  FdStore store(supervisor.address());
  Fd file(::memfd_create("kept", MFD_CLOEXEC));
  uint64_t before = not_stored("descriptors");
  rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
  rlimit none = limit;
  none.rlim_cur = 3;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  store.store("pool", file.get());
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);
  EXPECT_EQ(not_stored("descriptors") - before, 1u);
  EXPECT_FALSE(supervisor.take()) << "no message without what it speaks of";
}

TEST(FdStore, WhatIsNotSentAtTheEndIsCounted) {
  Counter& failures = counter("fathom_agent_notify_failures_total", "");
  FakeSupervisor supervisor;
  uint64_t before = failures.value();
  {
    FdStore store(supervisor.address());
    Fd file(::memfd_create("kept", MFD_CLOEXEC));
    fill_queue(store, file.get());
    FdStore moved = std::move(store);
  }
  EXPECT_EQ(failures.value() - before, 1u);
}

TEST(FdStore, WithoutASupervisorNothingFails) {
  for (const char* address : {"", "relative", "/", "@"}) {
    FdStore store{address};
    EXPECT_FALSE(store.keeps());
    store.store("pool", 0);
    store.say("READY=1");
    EXPECT_EQ(store.waiting(), 0u);
  }
  FdStore too_long("/" + std::string(200, 'x'));
  EXPECT_FALSE(too_long.keeps());
}

TEST(FdStore, ASupervisorThatIsGoneIsNotWaitedFor) {
  FakeSupervisor supervisor;
  FdStore store(supervisor.address());
  supervisor.go_away();
  store.say("READY=1");
  EXPECT_EQ(store.waiting(), 0u);
}

TEST(FdStore, NamesAreThoseThatSystemdTakes) {
  EXPECT_TRUE(is_store_name("pool-12-34"));
  for (const std::string& name : {std::string(), std::string("a:b"), std::string("a b"), std::string(256, 'x')})
    EXPECT_FALSE(is_store_name(name)) << name;
}

// In a process of its own: descriptors 3 and on are this test program's.
int in_child(void (*test)()) {
  pid_t child = ::fork();
  if (child == 0) {
    test();
    std::_Exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

void require(bool condition) {
  if (!condition) std::_Exit(1);
}

void inherit_three(pid_t pid) {
  int files[3];
  for (int i = 0; i < 3; ++i) files[i] = ::fcntl(::memfd_create("f", 0), F_DUPFD, 100);
  for (int i = 0; i < 3; ++i) ::dup2(files[i], 3 + i);
  ::setenv("LISTEN_PID", std::to_string(pid).c_str(), 1);
  ::setenv("LISTEN_FDS", "3", 1);
  ::setenv("LISTEN_FDNAMES", "one::three", 1);
}

TEST(TakeInherited, FindsDescriptorsAndNamesOnce) {
  EXPECT_EQ(in_child([] {
              inherit_three(::getpid());
              std::vector<InheritedFd> inherited = take_inherited();
              require(inherited.size() == 3);
              require(inherited[0].name == "one" && inherited[1].name == "unknown" && inherited[2].name == "three");
              require(inherited[2].descriptor.get() == 5);
              require((::fcntl(4, F_GETFD) & FD_CLOEXEC) != 0);
              require(std::getenv("LISTEN_FDS") == nullptr);
              require(take_inherited().empty());
            }),
            0);
}

TEST(TakeInherited, LeavesAloneWhatIsForAnother) {
  EXPECT_EQ(in_child([] {
              inherit_three(::getppid());
              require(take_inherited().empty());
              require(::fcntl(3, F_GETFD) >= 0);
            }),
            0);
}

TEST(TakeInherited, WildNumbersAreNone) {
  EXPECT_EQ(in_child([] {
              ::setenv("LISTEN_PID", std::to_string(::getpid()).c_str(), 1);
              for (const char* count : {"", "-1", "x", "99999999999999999999", "4000000000"}) {
                ::setenv("LISTEN_PID", std::to_string(::getpid()).c_str(), 1);
                ::setenv("LISTEN_FDS", count, 1);
                for (InheritedFd& fd : take_inherited()) fd.descriptor.release();
              }
            }),
            0);
}

}  // namespace
}  // namespace fathom::agent

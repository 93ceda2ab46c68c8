#include "node-agent/capture/task_directory.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <unistd.h>

#include <latch>
#include <set>
#include <thread>

namespace fathom::agent {
namespace {

TEST(TaskDirectory, HasThreadsAndTheirNames) {
  std::latch named(1), over(1);
  pid_t tid = 0;
  std::thread thread([&] {
    ::pthread_setname_np(::pthread_self(), "a name");
    tid = ::gettid();
    named.count_down();
    over.wait();
  });
  named.wait();
  TaskDirectory tasks(::getpid());
  std::set<pid_t> seen;
  tasks.for_each([&](pid_t one) { return seen.insert(one).second; });
  EXPECT_TRUE(seen.contains(tid));
  EXPECT_TRUE(seen.contains(::getpid()));
  EXPECT_EQ(tasks.name_of(tid), "a name");
  over.count_down();
  thread.join();
  EXPECT_EQ(TaskDirectory(::getpid()).name_of(tid), "") << "it has ended";
}

TEST(TaskDirectory, StopsWhenItIsTold) {
  TaskDirectory tasks(::getpid());
  int calls = 0;
  tasks.for_each([&](pid_t) { return ++calls < 1; });
  EXPECT_EQ(calls, 1);
}

TEST(TaskDirectory, AProcessThatIsNotThereHasNone) {
  TaskDirectory tasks(0);
  tasks.for_each([](pid_t) { return ADD_FAILURE(), false; });
  EXPECT_EQ(tasks.name_of(1), "");
}

}  // namespace
}  // namespace fathom::agent

#include "node-agent/capture/task_directory.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <unistd.h>

#include <latch>
#include <thread>

namespace fathom::agent {
namespace {

TEST(TaskDirectory, NamesThreads) {
  std::latch named(1), over(1);
  pid_t tid = 0;
  std::thread thread([&] {
    ::pthread_setname_np(::pthread_self(), "a name");
    tid = ::gettid();
    named.count_down();
    over.wait();
  });
  named.wait();
  const TaskDirectory tasks(::getpid());
  EXPECT_NE(tasks.name_of(::getpid()), "");
  EXPECT_EQ(tasks.name_of(tid), "a name");
  over.count_down();
  thread.join();
  EXPECT_EQ(TaskDirectory(::getpid()).name_of(tid), "") << "it has ended";
}

TEST(TaskDirectory, AProcessThatIsNotThereHasNoNames) {
  EXPECT_EQ(TaskDirectory(0).name_of(1), "");
}

}  // namespace
}  // namespace fathom::agent

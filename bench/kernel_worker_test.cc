#include "bench/kernel_worker.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>

namespace fathom::bench {
namespace {

long faults_of_this_thread() {
  rusage usage{};
  ::getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_minflt;
}

// Were the pages large ones, or still there from the loop before, it would be something else that is timed.
TEST(KernelWorker, TakesAFaultForEachPage) {
  const long before = faults_of_this_thread();
  EXPECT_GT(time_fault_ns(), 0);
  EXPECT_GE(faults_of_this_thread() - before, kFaultLoops * kFaultsOfALoop);
}

TEST(KernelWorker, AnswersAboutCallsAndFaults) {
  auto worker = KernelWorker::start();
  ASSERT_TRUE(worker.ok());
  EXPECT_GT((*worker)->empty_call_ns().value(), 0);
  EXPECT_GT((*worker)->fault_ns().value(), 0);
}

TEST(KernelWorker, SaysThatItHasDied) {
  auto worker = KernelWorker::start();
  ASSERT_TRUE(worker.ok());
  ::kill((*worker)->pid(), SIGKILL);
  EXPECT_EQ((*worker)->fault_ns().error().code, ErrorCode::kUnavailable);
}

}  // namespace
}  // namespace fathom::bench

#include "query/exit_signal.h"

#include <gtest/gtest.h>

#include <csignal>

namespace fathom::query {
namespace {

using capture::KernelEvent;
using capture::KernelEventKind;

// Of a process with two threads, of which the second one ended with this status.
std::string signal_by(int64_t status, KernelEventKind kind = KernelEventKind::kThreadExit) {
  capture::Capture content;
  content.threads = {{.tid = 1}, {.tid = 2}};
  content.threads[1].kernel_events = {{.kind = KernelEventKind::kSwitchedIn}, {.kind = kind, .result = status}};
  return exit_signal(content);
}

TEST(ExitSignal, IsTheOneOfTheWaitStatus) {
  constexpr int64_t kCoreDumped = 0x80;
  EXPECT_EQ(signal_by(SIGKILL), "SIGKILL");
  EXPECT_EQ(signal_by(SIGSEGV | kCoreDumped), "SIGSEGV");
}

TEST(ExitSignal, IsUnknownIfNoSignalEndedTheProcess) {
  EXPECT_EQ(signal_by(0), "");
  EXPECT_EQ(signal_by(3 << 8), "") << "exit(3)";
  EXPECT_EQ(signal_by(-11, KernelEventKind::kSyscall), "") << "EAGAIN";
  EXPECT_EQ(exit_signal({}), "") << "nothing of the kernel";
}

}  // namespace
}  // namespace fathom::query

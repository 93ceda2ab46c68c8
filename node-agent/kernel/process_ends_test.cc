#include "node-agent/kernel/process_ends.h"

#include <gtest/gtest.h>

#include <vector>

#include "node-agent/kernel/record_layout.h"

namespace fathom::agent::kernel {
namespace {

constexpr ProcessId kProcess{.pid = kEnds + 7, .started_ticks = uint64_t{1} << 40 | 5};
constexpr uint32_t kExitedWith3 = 3 << 8;

std::optional<int> status_in(uint64_t end) {
  std::vector<uint64_t> ends(kEnds);
  ends[7] = end;
  return find_exit_status(ends, kProcess);
}

TEST(ProcessEnds, TheStatusIsThatOfTheProcess) {
  EXPECT_EQ(status_in(end_of_process(kEnds + 7, kProcess.started_ticks, 0)), 0);
  EXPECT_EQ(status_in(end_of_process(kEnds + 7, kProcess.started_ticks, kExitedWith3)), 3 << 8);
  EXPECT_EQ(status_in(end_of_process(kEnds + 7, kProcess.started_ticks, 0x8b)), 0x8b) << "SIGSEGV, core dumped";
}

TEST(ProcessEnds, AnotherProcessSaysNothing) {
  EXPECT_EQ(status_in(0), std::nullopt) << "none";
  EXPECT_EQ(status_in(end_of_process(7, kProcess.started_ticks, 0)), std::nullopt) << "another id in the same place";
  EXPECT_EQ(status_in(end_of_process(kEnds + 7, kProcess.started_ticks + 1, 0)), std::nullopt) << "the id used again";
  EXPECT_EQ(find_exit_status({}, kProcess), std::nullopt);
  EXPECT_EQ(find_exit_status(std::vector<uint64_t>(kEnds), {}), std::nullopt) << "an unknown process";
}

}  // namespace
}  // namespace fathom::agent::kernel

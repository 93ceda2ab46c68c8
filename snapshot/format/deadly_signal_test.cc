#include "snapshot/format/deadly_signal.h"

#include <gtest/gtest.h>

#include <csignal>

namespace fathom::snapshot {
namespace {

TEST(DeadlySignal, IsAnExitThatNamesOne) {
  Snapshot snapshot;
  snapshot.sideband.push_back({.kind = SidebandKind::kExit, .tid = 3});
  snapshot.sideband.push_back({.kind = SidebandKind::kSignal, .tid = 4, .length = SIGSEGV});
  snapshot.sideband.push_back({.kind = SidebandKind::kExit, .tid = 4, .address = 0x1234, .length = SIGSEGV});
  snapshot.sideband.push_back({.kind = SidebandKind::kExit, .tid = 5, .length = uint64_t{1} << 40});
  const auto deadly = deadly_signals(snapshot);
  ASSERT_EQ(deadly.size(), 1U);
  EXPECT_EQ(deadly[0].signal, SIGSEGV);
  EXPECT_EQ(deadly[0].tid, 4);
  EXPECT_EQ(deadly[0].address, 0x1234U);
  EXPECT_EQ(signal_name(SIGSEGV), "SIGSEGV");
  EXPECT_EQ(signal_name(1000), "signal 1000");
}

}  // namespace
}  // namespace fathom::snapshot

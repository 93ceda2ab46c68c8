#include "snapshot/decode/packets.h"

#include <gtest/gtest.h>

#include "snapshot/decode/testing/decoded.h"
#include "snapshot/decode/testing/stream_builder.h"

namespace fathom::snapshot {
namespace {

class PacketsTest : public testing::Test {
 protected:
  PacketCounts count(const std::vector<std::string>& streams) {
    auto counted = count_packets(place_.write({}, streams));
    EXPECT_TRUE(counted.ok());
    return *counted;
  }

  // PSB, TSC, CBR, PSBEND, MODE, TIP.PGE, `bits` in TNT of six, FUP, TIP.PGD
  std::string simple(int bits) {
    Program code(0x1000);
    const auto begin = code.here();
    code.plain();
    code.jcc(begin);
    code.link();
    StreamBuilder builder({});
    builder.enable(0x1000);
    for (int number = 0; number < bits; ++number) {
      builder.step(code.instruction(builder.ip()));
      builder.step_jcc(code.instruction(builder.ip()), true);
    }
    builder.disable();
    return builder.stream();
  }

  SnapshotPlace place_;
};

TEST_F(PacketsTest, CountsByKindOverAllStreams) {
  const PacketCounts counts = count({simple(13), simple(6)});
  EXPECT_EQ(counts.kinds.at("PSB").count, 2u);
  EXPECT_EQ(counts.kinds.at("PSB").bytes, 32u);
  EXPECT_EQ(counts.kinds.at("TNT").count, 4u);
  EXPECT_EQ(counts.kinds.at("TIP.PGE").count, 2u);
  EXPECT_EQ(counts.kinds.at("TIP.PGD").count, 2u);
  EXPECT_EQ(counts.kinds.at("FUP").count, 2u);
  EXPECT_EQ(counts.kinds.at("MODE.Exec").count, 2u);
  EXPECT_EQ(counts.kinds.count("TIP"), 0u);
  EXPECT_EQ(counts.bad_bytes, 0u);
}

TEST_F(PacketsTest, EveryByteIsAccountedFor) {
  std::string damaged = "oldest" + simple(100);
  damaged += "\x02\xff\x02\xff\x02" + simple(200) + "\x02";
  const PacketCounts counts = count({damaged});
  uint64_t bytes = counts.skipped_bytes + counts.bad_bytes;
  for (const auto& [name, kind] : counts.kinds) bytes += kind.bytes;
  EXPECT_EQ(bytes, damaged.size());
  EXPECT_EQ(counts.bytes, damaged.size());
  EXPECT_EQ(counts.skipped_bytes, 6u);
  EXPECT_EQ(counts.bad_bytes, 6u);
  EXPECT_EQ(counts.kinds.at("PSB").count, 2u);
}

TEST_F(PacketsTest, PacketsLieAcrossWindows) {
  constexpr size_t kPackets = 600'000;
  StreamBuilder builder({});
  for (size_t number = 0; number < kPackets; ++number) builder.paging(number << 12);  // eight bytes each
  builder.pad(3);
  for (size_t number = 0; number < kPackets; ++number) builder.paging(number << 12);
  const PacketCounts counts = count({builder.stream()});
  EXPECT_EQ(counts.kinds.at("PIP").count, 2 * kPackets);
  EXPECT_EQ(counts.bad_bytes, 0u);
}

}  // namespace
}  // namespace fathom::snapshot

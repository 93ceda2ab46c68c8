// Synchronisation points that do not say what the code before them did: no instruction is shown of which nobody knows
// that it ran, wherever a stream is cut. What libipt's own loop finds is written down here.
#include <gtest/gtest.h>

#include <cstring>

#include "snapshot/decode/testing/decoded.h"

namespace fathom::snapshot {
namespace {

using namespace std::string_literals;

constexpr uint64_t kCodeAddress = 0x1000;

std::string with_address(char opcode, uint64_t ip) {
  std::string bytes(1, opcode);
  bytes.append(reinterpret_cast<const char*>(&ip), 6);
  return bytes;
}
std::string fup(uint64_t ip) {
  return with_address('\x7d', ip);
}
std::string pge(uint64_t ip) {
  return with_address('\x71', ip);
}
std::string psb_alone() {
  std::string bytes;
  for (int pair = 0; pair < 8; ++pair) bytes += "\x02\x82";
  return bytes;
}
const std::string kPsbEnd = "\x02\x23"s;
const std::string kMode64 = "\x99\x01"s;
const std::string kOverflow = "\x02\xf3"s;
const std::string kTaken = "\x06"s;
const std::string kStop = "\x01"s;  // TIP.PGD without an address

std::string psb(uint64_t ip) {
  return psb_alone() + kMode64 + fup(ip) + kPsbEnd;
}
std::string psb_without_ip() {
  return psb_alone() + kMode64 + kPsbEnd;
}

using Addresses = std::vector<uint64_t>;

class SegmentEndTest : public testing::Test {
 protected:
  SegmentEndTest() { place_.add_code(snapshot_, kCode, kCodeAddress); }

  // In one part, and in the smallest ones.
  Addresses decode(const std::string& stream) {
    const SnapshotFile file = place_.write(snapshot_, {stream});
    Addresses whole = decode(file, 1 << 20);
    EXPECT_EQ(decode(file, 1), whole);
    return whole;
  }
  Addresses decode(const SnapshotFile& file, uint64_t part_bytes) {
    Recorder found;
    auto summary = decode_flow(file, place_.directory(), {1, part_bytes}, found);
    EXPECT_TRUE(summary.ok());
    summary_ = *summary;
    return addresses(found.items);
  }
  static Addresses addresses(const std::vector<FlowItem>& items) {
    Addresses all;
    for (const auto& item : items) {
      if (item.kind != FlowKind::kBlock || item.ip - kCodeAddress >= kCode.size()) continue;
      for (uint64_t ip = item.ip; ip <= item.to; ip += kCode[ip - kCodeAddress] == '\x74' ? 2 : 1) all.push_back(ip);
    }
    return all;
  }

  // 1000: jz 1004; nops; 100a: jz 100e; nops; 1020: hlt
  static inline const std::string kCode =
      "\x74\x02"s + std::string(8, '\x90') + "\x74\x02"s + std::string(20, '\x90') + "\xf4"s;
  SnapshotPlace place_;
  Snapshot snapshot_;
  DecodeSummary summary_;
};

TEST_F(SegmentEndTest, AnOverflowInAPsbSaysNothingOfWhatRanBefore) {
  const Addresses ran = {0x1000, 0x1010, 0x1011, 0x1012, 0x1013};
  const std::string rest = kOverflow + fup(0x1010) + fup(0x1014) + kStop;
  for (const std::string& header : {""s, kMode64}) {
    EXPECT_EQ(decode(psb(kCodeAddress) + kTaken + psb_alone() + header + rest), ran);
    EXPECT_EQ(summary_.gap_total, 1u);
    EXPECT_EQ(summary_.gaps[GapReason::kOverflow].count, 1u);
  }
}

TEST_F(SegmentEndTest, AnAddressBeforeTheOverflowIsOneThatRan) {
  const std::string header = psb_alone() + kMode64 + fup(0x1006);
  EXPECT_EQ(decode(psb(kCodeAddress) + kTaken + header + kOverflow + fup(0x1010) + fup(0x1011) + kStop),
            (Addresses{0x1000, 0x1004, 0x1005, 0x1010}));
  EXPECT_EQ(summary_.gap_total, 1u);
}

TEST_F(SegmentEndTest, RecordingGoesOnElsewhereBehindAnOverflowInAPsb) {
  const std::string header = psb_alone() + kMode64 + kOverflow + kMode64;
  EXPECT_EQ(decode(psb(kCodeAddress) + kTaken + header + pge(0x1010) + fup(0x1014) + kStop),
            (Addresses{0x1000, 0x1010, 0x1011, 0x1012, 0x1013}));
  EXPECT_EQ(summary_.gap_total, 1u);
}

TEST_F(SegmentEndTest, APsbWithoutAnAddressWhileRecordingChangesNothing) {
  EXPECT_EQ(decode(psb(kCodeAddress) + kTaken + psb_without_ip() + kTaken + fup(0x1010) + kStop),
            (Addresses{0x1000, 0x1004, 0x1005, 0x1006, 0x1007, 0x1008, 0x1009, 0x100a, 0x100e, 0x100f}));
  EXPECT_EQ(summary_.gap_total, 0u);
}

TEST_F(SegmentEndTest, NothingLeadsToABeginningWhileRecording) {
  const Addresses all = decode(psb(kCodeAddress) + kTaken + psb_without_ip() + pge(0x1010) + fup(0x1012) + kStop);
  EXPECT_EQ(all, Addresses{0x1000});
  EXPECT_EQ(summary_.gaps[GapReason::kDecodeError].count, 1u);
}

// Of that processor an overflow's address may be one where recording was off: what comes behind the PSB+ says so.
TEST_F(SegmentEndTest, AnErratumLooksBeyondThePsb) {
  snapshot_.cpu = {.intel = true, .family = 6, .model = 92, .stepping = 9};
  const std::string stream = psb(kCodeAddress) + kOverflow + fup(0x1001) + psb_without_ip() + pge(0x1002) + fup(0x1003);
  EXPECT_EQ(decode(stream + kStop), (Addresses{0x1002}));
}

TEST_F(SegmentEndTest, APsbWithMuchPaddingIsNoBorder) {
  const std::string header = psb_alone() + kMode64 + std::string(5000, '\0') + fup(0x1008) + kPsbEnd;
  EXPECT_EQ(decode(psb(kCodeAddress) + kTaken + header + fup(0x1009) + kStop),
            (Addresses{0x1000, 0x1004, 0x1005, 0x1006, 0x1007, 0x1008}));
  EXPECT_EQ(summary_.gap_total, 0u);
}

// Recording stopped at a vmlaunch that was executed all the same.
TEST_F(SegmentEndTest, AnErratumLooksAtTheFirstInstruction) {
  snapshot_.cpu = {.intel = true, .family = 6, .model = 78, .stepping = 3};
  place_.add_code(snapshot_, "\x0f\x01\xc2\x90\x90\xf4", 0x2000);
  decode(psb(0x2000) + fup(0x2000) + kStop + pge(0x2003) + fup(0x2005) + kStop);
  EXPECT_EQ(summary_.instructions, 3u);
}

// While recording is off there is nothing to lose, and each PSB is a border: long pauses are shared out.
TEST_F(SegmentEndTest, PausesAreCut) {
  std::string stream = psb(kCodeAddress) + kTaken + fup(0x1006) + kStop;
  for (int i = 0; i < 10; ++i) stream += psb_without_ip();
  stream += pge(0x1010) + fup(0x1011) + kStop;
  EXPECT_EQ(decode(stream), (Addresses{0x1000, 0x1004, 0x1005, 0x1010}));
  EXPECT_EQ(summary_.gap_total, 0u);
  EXPECT_EQ(summary_.parts, 11u);
}

// Behind bytes that are no packet decoding goes on at the next PSB, whatever it says.
TEST_F(SegmentEndTest, BadPacketsEndBeforeAnyPsb) {
  const std::string bad = "\x02\x0b\xff"s;
  const std::string rest = kOverflow + fup(0x1010) + fup(0x1014) + kStop;
  EXPECT_EQ(decode(psb(kCodeAddress) + kTaken + fup(0x1006) + kStop + bad + psb_alone() + kMode64 + rest),
            (Addresses{0x1000, 0x1010, 0x1011, 0x1012, 0x1013}));
  EXPECT_EQ(summary_.gaps[GapReason::kBadPacket].count, 1u);
}

TEST_F(SegmentEndTest, ManyPsbsThatAreNotWholeAreReadOnce) {
  std::string stream = psb(kCodeAddress) + kTaken;
  while (stream.size() < (2u << 20)) stream += psb_alone() + kMode64 + "\x02\x0b\xff"s;
  decode(place_.write(snapshot_, {stream + psb(0x1010) + fup(0x1012) + kStop}), 1);
  EXPECT_EQ(summary_.instructions, 3u);
}

}  // namespace
}  // namespace fathom::snapshot

#include "snapshot/decode/address_filters.h"

#include <gtest/gtest.h>

#include "snapshot/decode/testing/decoded.h"
#include "snapshot/decode/testing/stream_builder.h"
#include "snapshot/format/address_filter.h"

namespace fathom::snapshot {
namespace {

constexpr uint64_t kOutside = kProgramBase + 0x100;
constexpr int kPlain = 6;
constexpr int kRounds = 5;
// Skylake, whose TIP.PGD need not have a target where a direct jump leaves a filter (SKL014).
constexpr Cpu kSkylake{true, 6, 0x4e, 3};

class AddressFiltersTest : public testing::Test {
 protected:
  AddressFiltersTest() {
    const Program::Label outside = code_.forward();
    code_.plain(kPlain);
    code_.jump(outside);
    code_.pad_to(kOutside);
    code_.bind(outside);
    code_.plain(kPlain);
    code_.system_call();
    bytes_ = code_.link();
    snapshot_.timing = StreamBuilder::timing();
    snapshot_.cpu = kSkylake;
  }

  // What runs in front of the jump, again and again; what it leads to is outside of the filter.
  std::string record() {
    StreamBuilder builder({});
    for (int round = 0; round < kRounds; ++round) {
      builder.enable(kProgramBase);
      for (int i = 0; i < kPlain; ++i) builder.step(code_.instruction(builder.ip()));
      builder.step_system_call(code_.instruction(builder.ip()));  // stops by a TIP.PGD without a target
    }
    executed_ = executed_ips(builder.executed());
    return builder.stream();
  }

  DecodeSummary decode(const Snapshot& snapshot, const std::string& stream) {
    const SnapshotFile file = place_.write(snapshot, {stream});
    found_ = Recorder();
    auto summary = decode_flow(file, place_.directory(), {}, found_);
    EXPECT_TRUE(summary.ok());
    return *summary;
  }

  Program code_{kProgramBase};
  std::string bytes_;
  SnapshotPlace place_;
  Snapshot snapshot_;
  std::vector<uint64_t> executed_;
  Recorder found_;
};

TEST_F(AddressFiltersTest, AJumpOutOfAFilterNeedsNoTarget) {
  place_.add_code(snapshot_, bytes_, kProgramBase);
  const std::string stream = record();
  decode(snapshot_, stream);
  EXPECT_NE(addresses(found_.items, code_), executed_) << "or this test proves nothing";
  snapshot_.sideband.push_back(address_filter_row("", kProgramBase, kOutside - kProgramBase));
  const DecodeSummary summary = decode(snapshot_, stream);
  EXPECT_EQ(summary.gap_total, 0u);
  EXPECT_EQ(addresses(found_.items, code_), executed_);
}

TEST_F(AddressFiltersTest, AFilesFilterIsWhereTheProcessShowsIt) {
  const uint32_t image = place_.add_code(snapshot_, bytes_, kProgramBase, 42);
  snapshot_.images[image].name = "/usr/bin/shop";
  snapshot_.streams.push_back({-1, 42, 42, {}});
  const std::string stream = record();
  snapshot_.sideband.push_back(address_filter_row("/usr/bin/shop", 0, kOutside - kProgramBase));
  EXPECT_EQ(decode(snapshot_, stream).gap_total, 0u);
  EXPECT_EQ(addresses(found_.items, code_), executed_);
  snapshot_.sideband.back().text = "./shop";
  decode(snapshot_, stream);
  EXPECT_EQ(addresses(found_.items, code_), executed_) << "known by its name";
}

// Without the erratum the packet's missing target means what it always does.
TEST_F(AddressFiltersTest, OtherProcessorsAreDecodedAsBefore) {
  place_.add_code(snapshot_, bytes_, kProgramBase);
  StreamBuilder builder({});
  builder.enable(kOutside);
  for (int i = 0; i < kPlain; ++i) builder.step(code_.instruction(builder.ip()));
  builder.step_system_call(code_.instruction(builder.ip()));
  for (const Cpu& cpu : {Cpu{}, kSkylake}) {
    snapshot_.cpu = cpu;
    snapshot_.sideband.resize(1);
    snapshot_.sideband.push_back(address_filter_row("", kOutside, 0x1000));
    EXPECT_EQ(decode(snapshot_, builder.stream()).gap_total, 0u);
    EXPECT_EQ(addresses(found_.items, code_), executed_ips(builder.executed()));
  }
}

MappedRange range(uint64_t begin, uint64_t end, uint64_t file_offset, uint32_t image) {
  return {begin, end, file_offset, image, 0};
}

TEST(AddressFilterRegisters, AreInTheOrderOfTheFilters) {
  Snapshot snapshot;
  snapshot.images = {{.name = "/bin/a"}, {.name = "/bin/b"}};
  snapshot.sideband = {address_filter_row("/bin/b", 0x2100, 0x1000), address_filter_row("", 0xffff0000, 0x100, true),
                       address_filter_row("/bin/c", 0, 0x100)};
  const std::vector<MappedRange> one = {range(0x1000, 0x5000, 0, 0), range(0x7000, 0x8000, 0x1000, 1),
                                        range(0x8000, 0x9000, 0x2000, 1)};
  const std::vector<MappedRange> other = {range(0x17000, 0x19000, 0x1000, 1)};
  const std::vector<std::span<const MappedRange>> spaces = {one, other};
  const pt_conf_addr_filter found = AddressFilters(snapshot).in(spaces);
  EXPECT_EQ(found.config.addr_cfg, 0x1121u);
  EXPECT_EQ(found.addr0_a, 0x8100u);
  EXPECT_EQ(found.addr0_b, 0x8fffu) << "as far as the map goes";
  EXPECT_EQ(found.addr1_a, 0xffff0000u);
  EXPECT_EQ(found.addr1_b, 0xffff00ffu);
  EXPECT_EQ(found.addr2_a, 0u) << "nobody shows it";
  EXPECT_EQ(found.addr2_b, 0u);
  EXPECT_EQ(found.addr3_a, 0x18100u) << "of the second process";
  EXPECT_EQ(found.addr3_b, 0x18fffu);
}

TEST(AddressFilterRegisters, AreNotSetWithoutKnowingWhatRan) {
  Snapshot snapshot;
  snapshot.images = {{.name = "/bin/a"}};
  snapshot.sideband = {address_filter_row("/bin/c", 0, 0x100), address_filter_row("", 0x1000, 0x100, true)};
  const std::vector<MappedRange> space = {range(0x1000, 0x5000, 0, 0)};
  const std::vector<std::span<const MappedRange>> spaces = {space};
  EXPECT_EQ(AddressFilters(snapshot).in(spaces).config.addr_cfg, 0u);
  snapshot.sideband.erase(snapshot.sideband.begin());
  EXPECT_EQ(AddressFilters(snapshot).in(spaces).config.addr_cfg, 2u) << "one that only stops needs nobody";
}

TEST(AddressFilterRegisters, HostileFiltersDoNoHarm) {
  Snapshot snapshot;
  snapshot.images = {{.name = "a"}};
  snapshot.sideband = {address_filter_row("a", UINT64_MAX, UINT64_MAX), address_filter_row("", UINT64_MAX, UINT64_MAX),
                       address_filter_row("", 0, 0)};
  for (int i = 0; i < 10; ++i) snapshot.sideband.push_back(address_filter_row("a", 0, UINT64_MAX));
  const std::vector<MappedRange> space = {range(0x1000, 0x2000, UINT64_MAX - 0xfff, 0)};
  const std::vector<std::span<const MappedRange>> spaces = {space};
  const pt_conf_addr_filter found = AddressFilters(snapshot).in(spaces);
  EXPECT_EQ(found.config.addr_cfg, 0x1111u);
  EXPECT_EQ(found.addr1_b, UINT64_MAX);
}

}  // namespace
}  // namespace fathom::snapshot

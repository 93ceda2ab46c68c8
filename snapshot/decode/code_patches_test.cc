// Code that is patched while it runs: each part of the flow is decoded with the bytes of its time.
#include <gtest/gtest.h>

#include "snapshot/decode/code_patches.h"
#include "snapshot/decode/testing/decoded.h"
#include "snapshot/decode/testing/stream_builder.h"

namespace fathom::snapshot {
namespace {

// A jump that leads to one of two places, each of which jumps back through a register.
struct Patched {
  explicit Patched(bool second) {
    program.plain(3);
    const auto one = program.forward();
    const auto other = program.forward();
    site = program.at();
    program.jump(second ? other : one);
    program.plain(2);
    program.bind(one);
    program.plain(4);
    program.indirect_jump();
    program.bind(other);
    program.plain(5);
    program.indirect_jump();
    bytes = program.link();
  }
  void round(StreamBuilder& builder) const {
    while (program.instruction(builder.ip()).op != Op::kIndirectJump) builder.step(program.instruction(builder.ip()));
    builder.step_indirect(program.instruction(builder.ip()), kKernelBase);
  }
  std::string site_bytes() const { return bytes.substr(site - kKernelBase, 5); }

  Program program{kKernelBase};
  uint64_t site = 0;
  std::string bytes;
};

class CodePatchesTest : public testing::Test {
 protected:
  void poke(uint64_t tsc, const std::string& before, const std::string& after) {
    Sideband row;
    row.kind = SidebandKind::kTextPoke;
    row.tsc = tsc;
    row.flags = kFlagKernel;
    row.address = before_.site;
    row.other_text = before;
    row.text = after;
    snapshot_.sideband.push_back(row);
  }
  void add_kernel(const std::string& bytes) {
    place_.add_code(snapshot_, bytes, kKernelBase);
    snapshot_.sideband.back().flags = kFlagKernel;
  }
  std::string bytes_at(uint64_t tsc) const {
    const MemoryMap map(snapshot_);
    const auto range = map.find(1, tsc, before_.site);
    return range && range->patch != 0 ? std::string(patch_bytes(snapshot_, *range)) : "nothing";
  }

  Patched before_{false};
  Patched after_{true};
  SnapshotPlace place_;
  Snapshot snapshot_;
};

TEST_F(CodePatchesTest, OldBytesBeforeAndNewOnesAfter) {
  add_kernel(before_.bytes);
  poke(100, "one__", "two__");
  poke(200, "two__", "three");
  EXPECT_EQ(bytes_at(0), "one__");
  EXPECT_EQ(bytes_at(99), "one__");
  EXPECT_EQ(bytes_at(100), "two__");
  EXPECT_EQ(bytes_at(199), "two__");
  EXPECT_EQ(bytes_at(5000), "three");
  const MemoryMap map(snapshot_);
  const auto behind = map.find(1, 150, before_.site + 5);
  ASSERT_TRUE(behind);
  EXPECT_EQ(behind->patch, 0u);
  EXPECT_EQ(behind->file_offset, before_.site + 5 - kKernelBase);
  EXPECT_EQ(map.find(1, 150, before_.site)->image, 0u);
}

TEST_F(CodePatchesTest, CodeThatComesAndGoes) {
  poke(100, "", "fresh");
  poke(200, "fresh", "");
  EXPECT_EQ(bytes_at(99), "nothing");
  EXPECT_EQ(bytes_at(100), "fresh");
  EXPECT_EQ(bytes_at(200), "nothing");
}

TEST_F(CodePatchesTest, PatchesThatOverlapAreCut) {
  add_kernel(before_.bytes);
  poke(100, "abcde", "ABCDE");
  snapshot_.sideband.back().address += 2;
  poke(200, "xyABC", "12345");
  const MemoryMap map(snapshot_);
  EXPECT_EQ(bytes_at(100), "xy");
  EXPECT_EQ(bytes_at(200), "12");
  EXPECT_EQ(patch_bytes(snapshot_, *map.find(1, 200, before_.site + 2)), "345");
  const auto rest = map.find(1, 200, before_.site + 6);
  ASSERT_TRUE(rest);
  EXPECT_EQ(rest->begin, before_.site + 5);
  EXPECT_EQ(patch_bytes(snapshot_, *rest), "DE");
}

TEST_F(CodePatchesTest, ThousandsOfPatchesStaySmall) {
  add_kernel(std::string(1 << 20, '\x90'));
  for (uint64_t number = 0; number < 20000; ++number) {
    poke(number + 1, "12345", "67890");
    snapshot_.sideband.back().address = kKernelBase + 16 * number;
  }
  const MemoryMap map(snapshot_);
  EXPECT_LE(map.ranges(1, 30000).size(), 2 * CodePatches::kMostPatches + 1);
  const auto last = map.find(1, 30000, kKernelBase + 16 * 19999);
  EXPECT_EQ(patch_bytes(snapshot_, *last), "67890");
  EXPECT_EQ(patch_bytes(snapshot_, *map.find(1, 19999, kKernelBase + 16 * 19999)), "12345");
}

// Whatever state the image has.
TEST_F(CodePatchesTest, FlowIsDecodedWithTheBytesOfItsTime) {
  StreamOptions options;
  options.mtc = options.cyc = true;
  StreamBuilder builder(options);
  builder.enable(kKernelBase);
  for (int round = 0; round < 5; ++round) before_.round(builder);
  builder.disable();  // interrupted, and told of the patch
  builder.pass(2000);
  const uint64_t patched = builder.tsc() - 500;
  builder.enable(kKernelBase);
  for (int round = 0; round < 5; ++round) after_.round(builder);
  builder.disable();
  std::vector<uint64_t> executed;
  for (const auto& one : builder.executed()) executed.push_back(one.ip);
  for (const Patched* image : {&before_, &after_}) {
    snapshot_ = {};
    snapshot_.timing = StreamBuilder::timing();
    add_kernel(image->bytes);
    poke(patched, before_.site_bytes(), after_.site_bytes());
    const SnapshotFile file = place_.write(snapshot_, {builder.stream()});
    Recorder found;
    const auto summary = decode_flow(file, place_.directory(), {1, 500}, found);
    ASSERT_TRUE(summary.ok());
    EXPECT_EQ(summary->gap_total, 0u);
    EXPECT_EQ(addresses(found.items, before_.program), executed);
  }
}

}  // namespace
}  // namespace fathom::snapshot

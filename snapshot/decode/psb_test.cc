#include "snapshot/decode/psb.h"

#include <gtest/gtest.h>

#include <string>

#include "snapshot/decode/testing/decoded.h"
#include "snapshot/decode/testing/stream_builder.h"

namespace fathom::snapshot {
namespace {

std::string psb() {
  std::string bytes;
  for (int i = 0; i < 8; ++i) bytes += "\x02\x82";
  return bytes;
}

size_t find(const std::string& bytes, size_t from = 0) {
  return find_psb({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()}, from);
}

TEST(PsbTest, IsFoundBehindBytesThatLookLikeItsBeginning) {
  EXPECT_EQ(find("abc" + psb() + "def"), 3u);
  EXPECT_EQ(find("\x2d\x02\x82" + psb() + "\x02\x23"), 3u);
  EXPECT_EQ(find("\x02\x82\x02\x82" + psb()), 4u);
  EXPECT_EQ(find(psb().substr(2)), 14u);
}

// Jumps to 0x8202, whose TIP ends as a PSB begins, with a PSB behind each.
TEST(PsbTest, PartsBeginWhereItDoes) {
  Program program(0x408200);
  program.plain(1);
  program.pad_to(0x408202);
  const auto target = program.here();
  program.indirect_jump();
  Snapshot snapshot;
  snapshot.timing = StreamBuilder::timing();
  SnapshotPlace place;
  place.add_code(snapshot, program.link(), program.base());
  StreamBuilder builder({});
  builder.enable(program.address(target));
  for (int i = 0; i < 20000; ++i) {
    builder.step_indirect(program.instruction(builder.ip()), program.address(target));
    builder.psb();
  }
  builder.disable();
  const SnapshotFile file = place.write(snapshot, {builder.stream()});
  for (uint64_t part_bytes : {1, 1000, 1 << 20}) {
    Recorder found;
    auto summary = decode_flow(file, place.directory(), {.threads = 1, .part_bytes = part_bytes}, found);
    ASSERT_TRUE(summary.ok());
    EXPECT_EQ(summary->gap_total, 0u) << part_bytes;
    EXPECT_EQ(summary->instructions, 20000u) << part_bytes;
  }
}

}  // namespace
}  // namespace fathom::snapshot

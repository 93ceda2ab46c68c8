#include "snapshot/record/step/proc_maps.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>

namespace fathom::snapshot::step {
namespace {

TEST(ProcMaps, LinesAsTheKernelWritesThem) {
  const auto maps = parse_maps(
      "55d0c0a00000-55d0c0a04000 r-xp 00002000 fe:01 131123                     /usr/bin/a b (deleted)\n"
      "7f0000000000-7f0000001000 rwxp 00000000 00:00 0 \n"
      "7ffc00000000-7ffc00002000 r-xp 00000000 00:00 0                          [vdso]\n");
  ASSERT_EQ(maps.size(), 3U);
  EXPECT_EQ(maps[0], (MappedFile{0x55d0c0a00000, 0x55d0c0a04000, 0x2000, uint64_t{0xfe} << 32 | 1, 131123, false, true,
                                 "/usr/bin/a b (deleted)"}));
  EXPECT_TRUE(maps[1].writable && maps[1].executable && maps[1].path.empty() && maps[1].inode == 0);
  EXPECT_EQ(maps[2].path, "[vdso]");
}

TEST(ProcMaps, WhatIsNoLineIsLeftOut) {
  EXPECT_TRUE(parse_maps("").empty());
  for (const char* line : {"x", "1-", "1-2", "1-2 r-x", "1-2 r-xp 0", "1-2 r-xp 0 1:2", "1-2 r-xp 0 1:2 x", "\n\n"}) {
    EXPECT_TRUE(parse_maps(line).empty()) << line;
  }
}

TEST(ProcMaps, OurOwn) {
  const auto maps = read_maps(::getpid());
  const auto here = reinterpret_cast<uint64_t>(&read_proc_file);
  EXPECT_TRUE(std::ranges::any_of(
      maps, [&](const MappedFile& map) { return map.begin <= here && here < map.end && map.executable; }));
  EXPECT_TRUE(read_maps(0).empty());
}

}  // namespace
}  // namespace fathom::snapshot::step

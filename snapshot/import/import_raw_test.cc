#include <gtest/gtest.h>

#include "snapshot/import/import.h"
#include "snapshot/import/testing/directories.h"
#include "snapshot/import/testing/packets.h"
#include "snapshot/import/testing/perf_builder.h"

namespace fathom::snapshot {
namespace {

class ImportRaw : public testing::Test {
 protected:
  ImportRaw() { options_.path = scratch_.write("stream.pt", perf::test_packets(3, 4)); }

  Snapshot import() {
    auto id = import_raw(directory_, options_);
    EXPECT_TRUE(id) << id.error().message;
    return id ? directory_.open_snapshot(*id)->snapshot() : Snapshot();
  }
  std::string error() {
    auto id = import_raw(directory_, options_);
    return id ? "imported" : id.error().message;
  }
  void image(const std::string& content, std::optional<uint64_t> base) {
    options_.images = {{scratch_.write("image", content), base}};
  }

  ScratchDirectory scratch_;
  SnapshotDirectory directory_ = scratch_.snapshots();
  RawImport options_;
};

std::string program() {
  return test_elf({{0x400000, "data", false}, {0x401010, "code", true}, {0x403000, "more", true}}, "id");
}

std::vector<uint64_t> addresses(const Snapshot& snapshot) {
  std::vector<uint64_t> found;
  for (const Sideband& row : snapshot.sideband) found.push_back(row.address);
  return found;
}

TEST_F(ImportRaw, OneStreamOfNobody) {
  options_.cpu = {true, 6, 142, 10};
  options_.timing = {3, 28, 2, 168, 0, 0, 0};
  image(program(), {});
  const Snapshot snapshot = import();
  EXPECT_EQ(snapshot.origin, Origin::kRawStream);
  EXPECT_EQ(snapshot.cpu, options_.cpu);
  EXPECT_EQ(snapshot.timing, options_.timing);
  ASSERT_EQ(snapshot.streams.size(), 1u);
  EXPECT_EQ(snapshot.streams[0].pid, 0);
  EXPECT_EQ(snapshot.streams[0].tid, 0);
  ASSERT_EQ(snapshot.streams[0].pieces.size(), 1u);
  EXPECT_EQ(snapshot.streams[0].pieces[0].bytes, perf::test_packets(3, 4).size());
  EXPECT_EQ(snapshot.images.at(0).content, sha256(program()));
  EXPECT_EQ(snapshot.images[0].build_id, "id");
}

TEST_F(ImportRaw, AnElfFileLiesAtItsOwnAddresses) {
  image(program(), {});
  const Snapshot snapshot = import();
  EXPECT_EQ(addresses(snapshot), (std::vector<uint64_t>{0x401010, 0x403000})) << "code alone";
  EXPECT_EQ(snapshot.sideband[0].length, 4u);
  EXPECT_EQ(snapshot.sideband[0].file_offset, 0x2000u);
  EXPECT_EQ(snapshot.sideband[0].pid, 0);
}

TEST_F(ImportRaw, ABaseCountsFromTheLowestPage) {
  image(program(), 0x7f0000000000);
  EXPECT_EQ(addresses(import()), (std::vector<uint64_t>{0x7f0000001010, 0x7f0000003000}));
}

TEST_F(ImportRaw, FlatBytesLieAtTheirBase) {
  image("flat code", 0x1000);
  const Snapshot snapshot = import();
  EXPECT_EQ(snapshot.images.at(0).kind, ImageKind::kFlat);
  EXPECT_EQ(addresses(snapshot), std::vector<uint64_t>{0x1000});
  EXPECT_EQ(snapshot.sideband[0].length, 9u);
}

TEST_F(ImportRaw, WhatCannotBePlacedIsRefusedWithTheCure) {
  image("flat code", {});
  EXPECT_NE(error().find("@HEXBASE"), std::string::npos);
  image(test_elf({{0x1000, "data", false}}, ""), {});
  EXPECT_NE(error().find("no executable segment"), std::string::npos);
  image("flat code", UINT64_MAX - 3);
  EXPECT_NE(error().find("does not fit"), std::string::npos);
  options_.path = scratch_.write("nothing", "");
  EXPECT_NE(error().find("no packets"), std::string::npos);
  options_.path = scratch_.path("absent");
  EXPECT_NE(error().find("cannot read"), std::string::npos);
}

// Others may be whole.
TEST_F(ImportRaw, AnImageWithoutItsCodeIsMissing) {
  const std::string whole = program();
  for (const size_t size : {size_t{0}, size_t{2}, size_t{40}, size_t{0x1800}}) {
    image(whole.substr(0, size), {});
    options_.images.push_back({scratch_.write("other", "flat code"), 0x1000});
    const Snapshot snapshot = import();
    ASSERT_EQ(snapshot.images.size(), 2u) << size;
    EXPECT_TRUE(snapshot.images[0].content.is_zero());
    EXPECT_NE(snapshot.images[0].missing, "") << size;
    EXPECT_EQ(addresses(snapshot), std::vector<uint64_t>{0x1000});
    EXPECT_EQ(snapshot.sideband[0].image, 1u);
  }
}

TEST_F(ImportRaw, TruncatedAndDamagedImagesDoNoHarm) {
  const std::string whole = program();
  for (size_t size = 1; size < whole.size(); size += size < 300 ? 11 : 997) {
    image(whole.substr(0, size), {});
    auto id = import_raw(directory_, options_);
    if (!id) continue;
    const auto file = directory_.open_snapshot(*id);
    for (const Sideband& row : file->snapshot().sideband) {
      EXPECT_LE(row.file_offset + row.length, size);
    }
  }
  for (size_t at = 0; at < 300; at += 5) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x40);
    image(damaged, {});
    (void)import_raw(directory_, options_);
  }
}

TEST(Words, ImagesWithAndWithoutABase) {
  EXPECT_EQ(parse_image_file("a/b")->path, "a/b");
  EXPECT_FALSE(parse_image_file("a/b")->base);
  EXPECT_EQ(*parse_image_file("a/b@400000")->base, 0x400000u);
  EXPECT_EQ(*parse_image_file("a/b@0xffffffff81000000")->base, 0xffffffff81000000u);
  EXPECT_EQ(parse_image_file("getty@.service")->path, "getty@.service");
  EXPECT_FALSE(parse_image_file("a@here"));
  EXPECT_FALSE(parse_image_file("@1000"));
}

TEST(Words, Processors) {
  EXPECT_EQ(*parse_cpu("6/142/10"), (Cpu{true, 6, 142, 10}));
  EXPECT_EQ(*parse_cpu("0x6/0x8e/0xa"), (Cpu{true, 6, 142, 10}));
  for (const char* wrong : {"", "6/142", "6/142/10/1", "6/300/1", "six/1/1", "6//1"})
    EXPECT_FALSE(parse_cpu(wrong)) << wrong;
  EXPECT_EQ(parse_cpuid15("2/168")->ebx, 168u);
  EXPECT_FALSE(parse_cpuid15("2"));
}

}  // namespace
}  // namespace fathom::snapshot

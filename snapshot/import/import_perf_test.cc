#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/testing/shared_data.h"
#include "snapshot/import/import.h"
#include "snapshot/import/own_vdso.h"
#include "snapshot/import/perf_sideband.h"
#include "snapshot/import/testing/directories.h"
#include "snapshot/import/testing/packets.h"
#include "snapshot/import/testing/perf_builder.h"

namespace fathom::snapshot {
namespace {

using perf::kTestZero;
using perf::PerfBuilder;
using perf::test_packets;

std::string text_of(const std::vector<uint8_t>& bytes) {
  return {bytes.begin(), bytes.end()};
}

class ImportPerf : public testing::Test {
 protected:
  void options(const std::string& content) { options_.path = scratch_.write("perf.data", content); }

  SnapshotFile import() {
    auto id = import_perf_data(directory_, options_);
    EXPECT_TRUE(id) << id.error().message;
    return *directory_.open_snapshot(*id);
  }
  std::string error() {
    auto id = import_perf_data(directory_, options_);
    return id ? "imported" : id.error().message;
  }
  static PerfBuilder beginning() {
    PerfBuilder builder;
    builder.info();
    return builder;
  }
  std::string elf() const { return test_elf({{0x1000, "\xc3", true}}, id_); }

  const std::string id_ = std::string(20, 'i');
  ScratchDirectory scratch_;
  SnapshotDirectory directory_ = scratch_.snapshots();
  PerfImport options_;
};

TEST_F(ImportPerf, WhatRealHardwareRecorded) {
  const auto path = find_perf_data(data_places());
  if (!path) GTEST_SKIP() << path.error().message;
  options_.path = *path;
  const SnapshotFile file = import();
  const Snapshot& snapshot = file.snapshot();
  auto counts = count_packets(file);
  EXPECT_EQ(counts["TNT"], 69'516u);
  EXPECT_EQ(counts["TIP"], 12'039u);
  EXPECT_EQ(counts["MTC"], 2'802u);
  EXPECT_EQ(counts["PIP"], 441u);
  EXPECT_EQ(counts["PSB"], 10u);
  ASSERT_EQ(snapshot.streams.size(), 2u);
  EXPECT_EQ(snapshot.streams[0].cpu, 0);
  EXPECT_EQ(snapshot.streams[0].pieces.at(0).bytes, 12'240u);
  EXPECT_EQ(snapshot.streams[1].cpu, 3);
  EXPECT_EQ(snapshot.streams[1].pieces.at(0).bytes, 137'728u);
  EXPECT_EQ(snapshot.cpu, (Cpu{true, 6, 78, 3}));
  EXPECT_EQ(snapshot.timing, (Timing{3, 12, 2, 100, 18446744041015200657u, 1789569706, 31}));
  const auto switches = std::ranges::count_if(snapshot.sideband, [](const Sideband& row) {
    return row.kind == SidebandKind::kSwitchIn || row.kind == SidebandKind::kSwitchOut;
  });
  EXPECT_EQ(switches, 152);
  const auto coreutils = std::ranges::find(snapshot.images, "/usr/bin/coreutils", &Image::name);
  ASSERT_NE(coreutils, snapshot.images.end());
  EXPECT_EQ(to_hex(coreutils->build_id), "c0a88cf4408ddef75343a69e41602f4d3de34e68");
  for (const Image& image : snapshot.images) EXPECT_FALSE(image.missing.empty()) << image.name;
}

TEST_F(ImportPerf, APathIsTakenWhenItsBuildIdIsTheRecordedOne) {
  const std::string path = scratch_.write("bin/program", elf());
  PerfBuilder builder = beginning();
  builder.map2({}, 0x1000, 0x1000, 0x1000, path, id_);
  builder.map2({}, 0x9000, 0x1000, 0x1000, path, std::string(20, 'o'));
  builder.packets(0, -1, 0, test_packets(1, 1));
  options(builder.file());
  const SnapshotFile file = import();
  const auto& images = file.snapshot().images;
  ASSERT_EQ(images.size(), 2u);
  EXPECT_EQ(images[0].missing, "");
  EXPECT_EQ(images[0].content, sha256(elf()));
  EXPECT_TRUE(directory_.has_image(images[0].content));
  EXPECT_NE(images[1].missing.find("another one (build-id " + to_hex(id_)), std::string::npos) << images[1].missing;
  EXPECT_TRUE(images[1].content.is_zero());
}

TEST_F(ImportPerf, WithoutABuildIdTheHostOrThePersonMustVouch) {
  const std::string path = scratch_.write("bin/program", elf());
  auto image_of = [&](const std::string& host) {
    PerfBuilder builder = beginning();
    builder.feature(perf::kHostnameFeature, PerfBuilder::header_string(host));
    builder.map2({}, 0x1000, 0x1000, 0x1000, path);
    builder.packets(0, -1, 0, test_packets(1, 1));
    options(builder.file());
    return import().snapshot().images.at(0);
  };
  EXPECT_NE(image_of("elsewhere").missing.find("another host"), std::string::npos);
  char own[256] = {};
  ASSERT_EQ(::gethostname(own, sizeof own - 1), 0);
  EXPECT_EQ(image_of(own).missing, "");
  scratch_.write("sys" + path, elf());
  options_.symfs = scratch_.path("sys");
  EXPECT_EQ(image_of("elsewhere").missing, "");
  options_.symfs.clear();
  options_.images = {{scratch_.write("given/program", elf()), {}}};
  EXPECT_EQ(image_of("elsewhere").missing, "");
}

TEST_F(ImportPerf, PerfsCacheHasImagesByBuildId) {
  PerfBuilder builder = beginning();
  builder.map2({}, 0x1000, 0x1000, 0x1000, "/gone/program", id_);
  builder.packets(0, -1, 0, test_packets(1, 1));
  options(builder.file());
  EXPECT_NE(import().snapshot().images.at(0).missing.find("not found"), std::string::npos);
  const std::string hex = to_hex(id_);
  scratch_.write("debug/.build-id/" + hex.substr(0, 2) + "/" + hex.substr(2) + "/elf", elf());
  options_.debug_directory = scratch_.path("debug");
  EXPECT_EQ(import().snapshot().images.at(0).missing, "");
}

TEST_F(ImportPerf, WhatNoFileHasIsMissingWithItsReason) {
  PerfBuilder builder = beginning();
  builder.map2({}, 0x1000, 0x1000, 0, "//anon");
  builder.map2({}, 0x3000, 0x1000, 0, "[vdso]", id_);
  builder.packets(0, -1, 0, test_packets(1, 1));
  options(builder.file());
  const auto images = import().snapshot().images;
  EXPECT_NE(images.at(0).missing.find("made while the program ran"), std::string::npos);
  EXPECT_NE(images.at(1).missing.find("not that of this host"), std::string::npos);
}

TEST_F(ImportPerf, TheVdsoOfTheSameKernelIsKnown) {
  const auto own = own_vdso();
  if (!own) GTEST_SKIP() << "this kernel gives no vDSO with a build-id";
  PerfBuilder builder = beginning();
  builder.map2({}, 0x3000, 0x1000, 0, "[vdso]", own->build_id);
  builder.packets(0, -1, 0, test_packets(1, 1));
  options(builder.file());
  EXPECT_EQ(import().snapshot().images.at(0).missing, "");
}

TEST_F(ImportPerf, AKernelIsPlacedWhereItLay) {
  std::string place;
  ByteWriter out(place);
  for (uint32_t half : {UINT32_MAX, 0U}) out.u32(half);
  for (uint64_t value : {uint64_t{0xffffffffb9600000}, uint64_t{0x1000000}, uint64_t{0xffffffffb9600000}})
    out.u64(value);
  PerfBuilder builder = beginning();
  builder.kernel_record(PERF_RECORD_MMAP, PERF_RECORD_MISC_KERNEL,
                        place + std::string("[kernel.kallsyms]_text\0\0", 24), {});
  builder.packets(0, -1, 0, test_packets(1, 1));
  options(builder.file());
  EXPECT_NE(import().snapshot().images.at(0).missing.find("--kcore"), std::string::npos);
  const std::string vmlinux = test_elf({{0xffffffff81000000, "\x90\xc3", true}, {0, "per processor", false}}, id_);
  options_.images = {{scratch_.write("vmlinux", vmlinux), {}}};
  const SnapshotFile file = import();
  ASSERT_EQ(file.snapshot().sideband.size(), 1u) << "the map without code is gone";
  const Sideband& map = file.snapshot().sideband[0];
  EXPECT_EQ(map.address, 0xffffffffb9600000u);
  EXPECT_EQ(map.length, 2u);
  EXPECT_EQ(map.flags, static_cast<uint32_t>(kFlagKernel));
  EXPECT_EQ(map.image, 1u);
  options_.images[0].base = 0xffffffffa0000000;
  EXPECT_EQ(import().snapshot().sideband.at(0).address, 0xffffffffa0000000u);
}

TEST_F(ImportPerf, ADirectoryOfPerfsHasTheKernelInIt) {
  PerfBuilder builder = beginning();
  builder.map2({}, 0xffffffffc0000000, 0x1000, 0, "/lib/modules/x.ko", {}, PERF_RECORD_MISC_KERNEL);
  builder.packets(0, -1, 0, test_packets(1, 1));
  scratch_.write("directory/data", builder.file());
  scratch_.write("directory/kcore_dir/kcore", test_elf({{0xffffffff81000000, "\x90\xc3", true}}, ""));
  scratch_.write("directory/kcore_dir/kallsyms", "ffffffff81000000 T _text\n");
  options_.path = scratch_.path("directory");
  const SnapshotFile file = import();
  ASSERT_EQ(file.snapshot().sideband.size(), 1u) << "the copy has the modules, too";
  EXPECT_EQ(file.snapshot().sideband[0].address, 0xffffffff81000000u);
  EXPECT_EQ(file.snapshot().images.back().name, perf::kKernelImage);
  EXPECT_EQ(file.snapshot().images.back().content, sha256("ffffffff81000000 T _text\n"));
}

TEST_F(ImportPerf, ADirectoryOfPerfsThreadsIsOneRecording) {
  PerfBuilder builder = beginning();
  builder.packets(0, -1, 0, test_packets(1, 1));
  scratch_.write("directory/data", builder.file());
  scratch_.write("directory/data.old", "of another recording");
  scratch_.write("directory/data.10", PerfBuilder().packets(2, -1, 300, test_packets(2, 1)).records());
  scratch_.write("directory/data.9", PerfBuilder().packets(2, -1, 0, test_packets(3, 1)).records());
  options_.path = scratch_.path("directory");
  const SnapshotFile file = import();
  const Snapshot& snapshot = file.snapshot();
  ASSERT_EQ(snapshot.streams.size(), 2u);
  EXPECT_EQ(snapshot.streams[1].pieces.at(1).offset, 300u) << "10 comes behind 9";
  ASSERT_EQ(snapshot.losses.size(), 1u);
  EXPECT_EQ(snapshot.losses[0], (Loss{"files of perf's threads that are missing", 9}));
  EXPECT_TRUE(std::filesystem::is_empty(scratch_.path("snapshots/drafts")));
}

TEST_F(ImportPerf, AnImageThatNothingIsIsRefused) {
  PerfBuilder builder = beginning();
  builder.packets(0, -1, 0, test_packets(1, 1));
  options(builder.file());
  options_.images = {{scratch_.write("other", elf()), {}}};
  EXPECT_NE(error().find("nothing that was recorded"), std::string::npos);
  options_.images = {{scratch_.path("absent"), {}}};
  EXPECT_NE(error().find("cannot read the image"), std::string::npos);
  EXPECT_TRUE(directory_.list()->empty());
  EXPECT_TRUE(std::filesystem::is_empty(scratch_.path("snapshots/drafts")));
}

TEST_F(ImportPerf, ProcessesThatDidNotRunAreLeftOut) {
  PerfBuilder builder = beginning();
  builder.map2({.pid = 1, .tid = 1}, 0x1000, 0x1000, 0, "/bin/parent");
  builder.map2({.pid = 7, .tid = 7}, 0x1000, 0x1000, 0, "/bin/idle");
  builder.map2({.pid = 2, .tid = 2}, 0x1000, 0x1000, 0, "/bin/child");
  std::string fork;
  ByteWriter out(fork);
  for (uint32_t number : {2, 1, 2, 1}) out.u32(number);
  out.u64(kTestZero + 10);
  builder.kernel_record(PERF_RECORD_FORK, 0, fork, {.nano = kTestZero + 10});
  builder.kernel_record(PERF_RECORD_SWITCH, 0, "", {.pid = 2, .tid = 2, .nano = kTestZero + 20});
  builder.packets(0, -1, 0, test_packets(1, 1));
  options(builder.file());
  std::vector<std::string> names;
  const SnapshotFile file = import();
  for (const Image& image : file.snapshot().images) names.push_back(image.name);
  EXPECT_EQ(names, (std::vector<std::string>{"/bin/parent", "/bin/child"}));
}

TEST_F(ImportPerf, PaddingBetweenPiecesGoes) {
  const std::string all = test_packets(5, 3);
  PerfBuilder builder = beginning();
  builder.packets(0, -1, 0, all.substr(0, 131)).packets(0, -1, 131, all.substr(131, 93));
  builder.packets(0, -1, 1000, all.substr(224));
  options(builder.file());
  const SnapshotFile file = import();
  const auto& pieces = file.snapshot().streams.at(0).pieces;
  ASSERT_EQ(pieces.size(), 2u) << "what goes on is one, behind a hole is another";
  EXPECT_EQ(pieces[0].bytes, 227u) << "in front of a hole nothing tells padding from packets";
  EXPECT_EQ(pieces[1].offset, 1000u);
  EXPECT_EQ(text_of(stream_bytes(file, file.snapshot().streams[0])).substr(0, 224), all.substr(0, 224));
}

TEST_F(ImportPerf, CopiesOfARingAreJoined) {
  const std::string all = test_packets(9, 40);
  PerfBuilder builder;
  builder.info(true);
  builder.packets(0, -1, 512, all.substr(0, 2000));    // ends in the middle of a packet
  builder.packets(0, -1, 512, all.substr(900, 2000));  // repeats 1,100 of it
  builder.packets(0, -1, 512, all.substr(4000, 500));  // all in between was overwritten
  options(builder.file());
  const SnapshotFile file = import();
  const auto& pieces = file.snapshot().streams.at(0).pieces;
  const std::string bytes = text_of(stream_bytes(file, file.snapshot().streams[0]));
  EXPECT_EQ(bytes.substr(0, 2900), all.substr(0, 2900));
  EXPECT_EQ(bytes.substr(2900, 500), all.substr(4000, 500));
  ASSERT_GE(pieces.size(), 2u);
  EXPECT_GT(pieces.back().offset, pieces[pieces.size() - 2].offset + pieces[pieces.size() - 2].bytes);
  uint64_t next = 0;
  for (const Stream::Piece& piece : pieces) {
    if (&piece != &pieces.back()) {
      EXPECT_EQ(piece.offset, next);
    }
    next = piece.offset + piece.bytes;
  }
}

}  // namespace
}  // namespace fathom::snapshot

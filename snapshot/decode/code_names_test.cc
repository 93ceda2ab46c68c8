#include "snapshot/decode/code_names.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "snapshot/decode/kernel_names.h"
#include "snapshot/decode/testing/decoded.h"

namespace fathom::snapshot {
namespace {

constexpr uint64_t kLibraryBase = 0x7f0000000000;
constexpr int32_t kPid = 42;

class CodeNamesTest : public testing::Test {
 protected:
  CodeNamesTest() {
    const auto sample = std::filesystem::path(FATHOM_TESTDATA) / "../../symbols/testdata/sample.elf";
    auto stored = place_.directory().add_image_file(sample.lexically_normal());
    EXPECT_TRUE(stored.ok());
    Image image;
    image.name = "/opt/lib/sample.so";
    image.content = stored->content;
    image.bytes = stored->bytes;
    snapshot_.images.push_back(image);
    map(kLibraryBase, 0x1000, 0, 0);
  }

  void map(uint64_t address, uint64_t length, uint64_t tsc, uint64_t file_offset) {
    Sideband row;
    row.tsc = tsc;
    row.pid = kPid;
    row.address = address;
    row.length = length;
    row.file_offset = file_offset;
    row.image = 0;
    snapshot_.sideband.push_back(row);
  }
  void kernel_symbol(uint64_t address, uint64_t length, const std::string& name, uint64_t tsc = 0, uint32_t flags = 0) {
    Sideband row;
    row.kind = SidebandKind::kKernelSymbol;
    row.tsc = tsc;
    row.address = address;
    row.length = length;
    row.text = name;
    row.flags = flags;
    snapshot_.sideband.push_back(row);
  }
  CodePlace at(uint64_t ip, uint64_t tsc = 100) const {
    const MemoryMap map(snapshot_);
    const CodeNames names(snapshot_, place_.directory(), map);
    CodePlace place = names.find(kPid, tsc, ip);
    name_ = place_name(place, ip);
    place.function = nullptr;  // lives no longer than the names
    return place;
  }
  std::string name(uint64_t ip, uint64_t tsc = 100) const {
    at(ip, tsc);
    return name_;
  }

  SnapshotPlace place_;
  Snapshot snapshot_;
  mutable std::string name_;
};

TEST_F(CodeNamesTest, FunctionsWithTheirExtent) {
  const CodePlace place = at(kLibraryBase + 0x3c0);
  EXPECT_EQ(name_, "shop::handle(shop::Request&)");
  EXPECT_EQ(place.begin, kLibraryBase + 0x3bd);
  EXPECT_EQ(place.end, kLibraryBase + 0x3d6);
  EXPECT_EQ(place.image_offset, 0x3c0u);
  EXPECT_EQ(place.function_offset, 3u);
}

TEST_F(CodeNamesTest, CodeWithoutASymbolIsItsImages) {
  const CodePlace place = at(kLibraryBase + 0x500);
  EXPECT_EQ(name_, "sample.so+0x500");
  EXPECT_EQ(place.begin, kLibraryBase + 0x3f4);
  EXPECT_EQ(place.end, kLibraryBase + 0x1000);
  EXPECT_EQ(name(0x1234), "0x1234");
  EXPECT_EQ(at(0x1234).begin, 0x1234u);
  EXPECT_EQ(at(0x1234).end, 0x1235u);
}

// A map shows a piece of a file; a function's extent ends where the map does.
TEST_F(CodeNamesTest, OffsetsOfTheMapCount) {
  map(0x500000, 0x20, 0, 0x3c0);
  const CodePlace place = at(0x500004);
  EXPECT_EQ(name_, "shop::handle(shop::Request&)");
  EXPECT_EQ(place.begin, 0x500000u);
  EXPECT_EQ(place.end, 0x500016u);
  EXPECT_EQ(place.function_offset, 7u);
}

// Packets tell time late: code may run before its map is known.
TEST_F(CodeNamesTest, AMapThatComesLaterIsUsed) {
  map(0x500000, 0x1000, 5000, 0);
  EXPECT_EQ(name(0x5003bd, 100), "shop::handle(shop::Request&)");
}

TEST_F(CodeNamesTest, Lines) {
  const MemoryMap map(snapshot_);
  const CodeNames names(snapshot_, place_.directory(), map);
  const auto line = names.line(kPid, 100, kLibraryBase + 0x3b3);
  ASSERT_TRUE(line.has_value());
  EXPECT_EQ(line->line, 11u);
  EXPECT_FALSE(names.line(kPid, 100, 0x1234).has_value());
  EXPECT_NE(names.symbols(0), nullptr);
  EXPECT_EQ(names.symbols(1), nullptr);
}

TEST_F(CodeNamesTest, TheKernelIsNamedBySideband) {
  kernel_symbol(kKernelBase, 0x100, "do_syscall_64");
  kernel_symbol(kKernelBase + 0x100, 0, "without_size");
  kernel_symbol(kKernelBase + 0x200, 0x10, "schedule");
  const CodePlace place = at(kKernelBase + 0x10);
  EXPECT_EQ(name_, "do_syscall_64");
  EXPECT_EQ(place.begin, kKernelBase);
  EXPECT_EQ(place.end, kKernelBase + 0x100);
  EXPECT_EQ(place.function_offset, 0x10u);
  EXPECT_EQ(name(kKernelBase + 0x1ff), "without_size");
  EXPECT_EQ(name(kKernelBase + 0x210), "0xffffffff81000210");
}

TEST_F(CodeNamesTest, KernelCodeComesAndGoes) {
  kernel_symbol(kKernelBase, 0x100, "bpf_prog_1", 1000);
  kernel_symbol(kKernelBase, 0x100, "bpf_prog_1", 2000, kFlagGone);
  kernel_symbol(kKernelBase, 0x80, "bpf_prog_2", 3000);
  EXPECT_EQ(name(kKernelBase + 0x10, 1500), "bpf_prog_1");
  EXPECT_EQ(name(kKernelBase + 0x10, 2500), "0xffffffff81000010");
  EXPECT_EQ(name(kKernelBase + 0x10, 3500), "bpf_prog_2");
  EXPECT_EQ(name(kKernelBase + 0x90, 3500), "0xffffffff81000090");
}

TEST_F(CodeNamesTest, AListOfTheKernelsSymbolsIsAnImage) {
  auto stored = place_.directory().add_image_bytes(
      "ffffffff81000000 T _text\nffffffff81000040 t helper\t[module]\nffffffff81000080 d no_code\nnot a line\n"
      "0000000000000000 T hidden\nffffffff810000c0 T last\n");
  ASSERT_TRUE(stored.ok());
  Image image;
  image.name = "[kernel.kallsyms]";
  image.kind = ImageKind::kFlat;
  image.content = stored->content;
  image.bytes = stored->bytes;
  snapshot_.images.push_back(image);
  EXPECT_EQ(name(kKernelBase + 0x3f), "_text");
  EXPECT_EQ(name(kKernelBase + 0xa0), "helper");
  EXPECT_EQ(name(0x10), "0x10");
  const MemoryMap map(snapshot_);
  const CodeNames names(snapshot_, place_.directory(), map);
  ASSERT_EQ(names.kernel_named("helper").size(), 1u);
  EXPECT_EQ(names.kernel_named("helper")[0]->begin, kKernelBase + 0x40);
}

TEST_F(CodeNamesTest, AnImageThatIsNotThereHasNoNames) {
  snapshot_.images[0].content = {};
  EXPECT_EQ(name(kLibraryBase + 0x3c0), "sample.so+0x3c0");
}

}  // namespace
}  // namespace fathom::snapshot

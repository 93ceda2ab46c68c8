#include "snapshot/record/pt/jitdump.h"

#include <elf.h>
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <string>

#include "base/bytes.h"
#include "snapshot/record/pt/code_image.h"
#include "snapshot/record/pt/jit_images.h"

namespace fathom::snapshot {
namespace {

std::string header(uint64_t flags = 0, uint32_t machine = EM_X86_64) {
  std::string bytes;
  ByteWriter writer(bytes);
  writer.u32(0x4a695444);
  writer.u32(1);
  writer.u32(40);
  writer.u32(machine);
  writer.u32(0);
  writer.u32(77);
  writer.u64(5);
  writer.u64(flags);
  return bytes;
}

std::string record(uint32_t kind, uint64_t time, const std::string& body) {
  std::string bytes;
  ByteWriter writer(bytes);
  writer.u32(kind);
  writer.u32(static_cast<uint32_t>(16 + body.size()));
  writer.u64(time);
  writer.raw(body);
  return bytes;
}

std::string load(uint64_t time, uint64_t address, uint64_t index, const std::string& name, const std::string& code) {
  std::string body;
  ByteWriter writer(body);
  writer.u32(77);
  writer.u32(78);
  writer.u64(address);
  writer.u64(address);
  writer.u64(code.size());
  writer.u64(index);
  writer.raw(name);
  writer.u8(0);
  writer.raw(code);
  return record(0, time, body);
}

std::string move(uint64_t time, uint64_t from, uint64_t to, uint64_t bytes, uint64_t index) {
  std::string body;
  ByteWriter writer(body);
  writer.u32(77);
  writer.u32(78);
  writer.u64(to);
  writer.u64(from);
  writer.u64(to);
  writer.u64(bytes);
  writer.u64(index);
  return record(1, time, body);
}

TEST(Jitdump, ItsNames) {
  EXPECT_TRUE(is_jitdump_name("/tmp/.debug/jit/jit-123.dump"));
  EXPECT_TRUE(is_jitdump_name("jit-1.dump"));
  for (const char* name : {"/tmp/jit-.dump", "/tmp/jit-1a.dump", "/tmp/jit-1.dump.old", "/tmp/git-1.dump", ""})
    EXPECT_FALSE(is_jitdump_name(name)) << name;
}

TEST(Jitdump, CodeAndMoves) {
  const std::string bytes = header() + load(10, 0x1000, 1, "square", "\x90\xc3") + record(4, 11, "unwinding") +
                            move(12, 0x1000, 0x2000, 2, 1) + record(3, 13, "");
  auto dump = parse_jitdump(bytes);
  ASSERT_TRUE(dump.ok()) << dump.error().message;
  EXPECT_FALSE(dump->damaged);
  EXPECT_EQ(dump->pid, 77);
  ASSERT_EQ(dump->code.size(), 2u);
  EXPECT_EQ(dump->code[0].name, "square");
  EXPECT_EQ(dump->code[0].code, "\x90\xc3");
  EXPECT_EQ(dump->code[1].moved_from, 0x1000u);
  EXPECT_EQ(dump->code[1].address, 0x2000u);
}

TEST(Jitdump, EveryPrefixHasWhatIsWhole) {
  const std::string bytes = header() + load(10, 0x1000, 1, "one", "\x90\xc3") + load(11, 0x2000, 2, "two", "\xc3");
  for (size_t size = 0; size < bytes.size(); ++size) {
    auto dump = parse_jitdump(std::string_view(bytes).substr(0, size));
    ASSERT_EQ(dump.ok(), size >= 40) << size;
    if (!dump) continue;
    const bool at_a_seam = size == 40 || size == 40 + load(10, 0x1000, 1, "one", "\x90\xc3").size();
    EXPECT_EQ(dump->damaged, !at_a_seam) << size;
    EXPECT_LE(dump->code.size(), 1u);
  }
}

TEST(Jitdump, OtherFilesAreRefused) {
  EXPECT_FALSE(parse_jitdump("not a dump at all, but long enough to be one").ok());
  EXPECT_FALSE(parse_jitdump(header(0, EM_AARCH64)).ok());
}

TEST(Jitdump, FlippedBitsAreHarmless) {
  std::mt19937 random(11);
  const std::string bytes = header() + load(10, 0x1000, 1, "one", "\x90\xc3") + move(12, 0x1000, 0x2000, 2, 1);
  for (int round = 0; round < 5000; ++round) {
    std::string damaged = bytes;
    for (uint32_t i = 1 + random() % 4; i > 0; --i)
      damaged[random() % damaged.size()] ^= static_cast<char>(1 << random() % 8);
    auto dump = parse_jitdump(damaged);
    if (!dump) continue;
    for (const JitCode& code : dump->code) ASSERT_LE(code.bytes, UINT64_MAX - code.address);
    (void)read_jit_image(damaged, 77, {}, {});
  }
}

TEST(JitImage, RowsSayWhatLiesWhereAndWhen) {
  // Perf's clock is 5000 ns behind the monotonic one; a tick is two nanoseconds.
  const Timing timing{.conversion_mult = 2, .conversion_shift = 0};
  const ClockPair now{1000, 7000};
  const std::string code(5, '\xc3');
  auto image = read_jit_image(header() + load(6000, 0x1000, 1, "square", code) + move(6500, 0x1000, 0x9000, 5, 1) +
                                  move(6600, 0x7777, 0x8888, 5, 42),
                              77, timing, now);
  ASSERT_TRUE(image.ok());
  ASSERT_EQ(image->rows.size(), 3u);
  EXPECT_EQ(image->rows[0].tsc, 500u);
  EXPECT_EQ(image->rows[0].address, 0x1000u);
  EXPECT_EQ(image->rows[1].kind, SidebandKind::kUnmap);
  EXPECT_EQ(image->rows[2].address, 0x9000u);
  EXPECT_EQ(image->rows[2].tsc, 750u);
  EXPECT_EQ(image->rows[2].file_offset, image->rows[0].file_offset);
  EXPECT_EQ(image->elf.substr(image->rows[0].file_offset, 5), code);
}

TEST(JitImage, TicksAreTakenAsTheyAre) {
  auto image = read_jit_image(header(1) + load(600, 0x1000, 1, "square", "\xc3"), 77, {}, {});
  ASSERT_TRUE(image.ok());
  EXPECT_EQ(image->rows[0].tsc, 600u);
}

// As a reader of ELF sees it.
TEST(CodeImage, IsAnElfFileWithItsNames) {
  CodeImageBuilder builder;
  const uint64_t one = builder.add_code("\x90\x90\xc3");
  const uint64_t two = builder.add_code("\xc3");
  builder.add_symbol("first", one, 3);
  builder.add_symbol("second", two, 1);
  const std::string file = builder.finish();
  Elf64_Ehdr header;
  std::memcpy(&header, file.data(), sizeof header);
  ASSERT_EQ(std::memcmp(header.e_ident, ELFMAG, SELFMAG), 0);
  ASSERT_EQ(header.e_shoff + header.e_shnum * sizeof(Elf64_Shdr), file.size());
  Elf64_Shdr sections[5];
  std::memcpy(sections, file.data() + header.e_shoff, sizeof sections);
  const char* section_names = file.data() + sections[header.e_shstrndx].sh_offset;
  EXPECT_STREQ(section_names + sections[2].sh_name, ".symtab");
  ASSERT_EQ(sections[2].sh_size, 3 * sizeof(Elf64_Sym));
  Elf64_Sym symbols[3];
  std::memcpy(symbols, file.data() + sections[2].sh_offset, sizeof symbols);
  EXPECT_STREQ(file.data() + sections[sections[2].sh_link].sh_offset + symbols[2].st_name, "second");
  EXPECT_EQ(symbols[2].st_value, two);
  Elf64_Phdr segment;
  std::memcpy(&segment, file.data() + header.e_phoff, sizeof segment);
  EXPECT_EQ(segment.p_vaddr, segment.p_offset);
  EXPECT_LE(segment.p_offset + segment.p_filesz, file.size());
  EXPECT_GE(one, segment.p_offset);
  EXPECT_EQ(file.substr(one, 3), "\x90\x90\xc3");
}

}  // namespace
}  // namespace fathom::snapshot

#include "snapshot/record/pt/kernel_text.h"

#include <elf.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "snapshot/record/testing/scripted_perf.h"

namespace fathom::snapshot {
namespace {

constexpr uint64_t kText = 0xffffffff81000000;
constexpr uint64_t kModule = 0xffffffffc0000000;

template <typename T>
void put(std::string& bytes, size_t at, const T& value) {
  bytes.resize(std::max(bytes.size(), at + sizeof value));
  std::memcpy(bytes.data() + at, &value, sizeof value);
}

// One segment of two pages.
std::string kcore() {
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_phoff = sizeof header;
  header.e_phentsize = sizeof(Elf64_Phdr);
  header.e_phnum = 1;
  Elf64_Phdr segment{};
  segment.p_type = PT_LOAD;
  segment.p_vaddr = kText;
  segment.p_offset = 4096;
  segment.p_filesz = 8192;
  std::string bytes(4096 + 8192, 'k');
  put(bytes, 0, header);
  put(bytes, sizeof header, segment);
  bytes.replace(4096 + 0x100, 4, "code");
  return bytes;
}

constexpr const char* kSymbols =
    "0000000000000000 A fixed_percpu_data\nffffffff81000100 T start_kernel\nffffffff81000000 T _stext\n"
    "ffffffff81001000 t helper\nffffffff82000000 D a_variable\nffffffffc0000000 t in_module\t[a_module]\n";

TEST(KernelText, SymbolsOfCodeInOrder) {
  auto symbols = parse_kallsyms(kSymbols);
  ASSERT_TRUE(symbols.ok());
  ASSERT_EQ(symbols->size(), 4u);
  EXPECT_EQ((*symbols)[0].name, "_stext");
  EXPECT_EQ((*symbols)[0].bytes, 0x100u);
  EXPECT_EQ((*symbols)[3].name, "in_module");
  const auto ranges = ranges_of(*symbols);
  ASSERT_EQ(ranges.size(), 2u);
  EXPECT_EQ(ranges[0].address, kText);
  EXPECT_EQ(ranges[1].address, kModule);
}

TEST(KernelText, HiddenAddressesAreSaid) {
  auto symbols = parse_kallsyms("0000000000000000 T _stext\n0000000000000000 T start_kernel\n");
  ASSERT_FALSE(symbols.ok());
  EXPECT_NE(symbols.error().message.find("kptr_restrict"), std::string::npos);
  for (const char* text : {"", "x", "ffffffff81000000", "ffffffff81000000 T", "zz T x\n"})
    EXPECT_FALSE(parse_kallsyms(text).ok()) << text;
}

TEST(KernelText, IsCopiedWithItsNames) {
  ScriptedPerf system;
  system.put_file("/proc/kallsyms", kSymbols);
  system.put_file("/proc/kcore", kcore());
  auto kernel = read_kernel_text(system);
  ASSERT_TRUE(kernel.ok()) << kernel.error().message;
  ASSERT_EQ(kernel->ranges.size(), 1u);  // the module's memory is not there
  const KernelRange& range = kernel->ranges[0];
  EXPECT_EQ(range.bytes, 8192u);
  EXPECT_EQ(kernel->image.substr(range.file_offset + 0x100, 4), "code");
  EXPECT_NE(kernel->image.find("start_kernel"), std::string::npos);
}

TEST(KernelText, WhatIsNotReadableIsSaidWithItsCure) {
  ScriptedPerf system;
  EXPECT_NE(read_kernel_text(system).error().message.find("kallsyms"), std::string::npos);
  system.put_file("/proc/kallsyms", kSymbols);
  EXPECT_NE(read_kernel_text(system).error().message.find("kcore"), std::string::npos);
  for (const size_t size : {1, 63, 64, 100, 120, 5000}) {
    system.put_file("/proc/kcore", kcore().substr(0, size));
    (void)read_kernel_text(system);
  }
  std::string empty = kcore();
  put(empty, offsetof(Elf64_Ehdr, e_phnum), uint16_t{0});
  system.put_file("/proc/kcore", empty);
  EXPECT_FALSE(read_kernel_text(system).ok());
}

}  // namespace
}  // namespace fathom::snapshot

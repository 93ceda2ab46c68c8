#include "snapshot/symbols/image_symbols.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <random>
#include <thread>

#include "base/testing/temp_directory.h"
#include "base/whole_io.h"
#include "snapshot/symbols/debug_data.h"
#include "snapshot/symbols/debug_file.h"
#include "snapshot/symbols/demangle.h"
#include "snapshot/symbols/symbol_table.h"

namespace fathom::snapshot {
namespace {

namespace fs = std::filesystem;

// Where things lie in testdata/sample.elf (objdump).
constexpr uint64_t kOutsidePlt = 0x390;
constexpr uint64_t kHelper = 0x3b0;
constexpr uint64_t kHandle = 0x3bd;
constexpr uint64_t kPlain = 0x3d6;
constexpr uint64_t kEnd = 0x3f4;

std::string sample(const std::string& name) {
  return std::string(FATHOM_TESTDATA) + "/" + name;
}

std::unique_ptr<ImageSymbols> load(const std::string& path, const std::string& original = "sample.so") {
  Image image;
  image.name = original;
  return ImageSymbols::load(path, image);
}

std::string name_at(const ImageSymbols& symbols, uint64_t offset) {
  const Function* function = symbols.function(offset);
  return function != nullptr ? function->name : "";
}

std::string line_at(const ImageSymbols& symbols, uint64_t offset) {
  const auto line = symbols.line(offset);
  return line ? line->file + ":" + std::to_string(line->line) : "";
}

class Folder : public testing::Test {
 protected:
  std::string put(const std::string& from, const std::string& to) const {
    fs::create_directories(fs::path(path_ + "/" + to).parent_path());
    fs::copy_file(sample(from), path_ + "/" + to, fs::copy_options::overwrite_existing);
    return path_ + "/" + to;
  }
  std::string write(const std::string& name, const std::string& bytes) const {
    Fd file(::open((path_ + "/" + name).c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    EXPECT_TRUE(write_whole(file.get(), bytes, "test").ok());
    return path_ + "/" + name;
  }

  void look_at_damage(const std::string& path) const;

  TempDirectory scratch_;
  const std::string path_ = scratch_.path();
};

using ImageSymbolsTest = Folder;

TEST_F(ImageSymbolsTest, FunctionsOfTheSymbolTable) {
  const auto symbols = load(sample("sample.elf"));
  EXPECT_EQ(symbols->problem(), "");
  EXPECT_EQ(name_at(*symbols, kHelper), "shop::helper(int)");
  EXPECT_EQ(name_at(*symbols, kHandle - 1), "shop::helper(int)");
  EXPECT_EQ(name_at(*symbols, kHandle), "shop::handle(shop::Request&)");
  EXPECT_EQ(name_at(*symbols, kPlain), "plain");
  EXPECT_EQ(name_at(*symbols, kEnd), "");
  const FunctionExtent extent = symbols->extent(kHandle + 3);
  EXPECT_EQ(extent.begin, kHandle);
  EXPECT_EQ(extent.end, kPlain);
}

TEST_F(ImageSymbolsTest, EntriesOfTheLinkageTable) {
  const auto secure = load(sample("sample.elf"));
  EXPECT_EQ(name_at(*secure, 0x370), "outside@plt");  // .plt pushes a number
  EXPECT_EQ(name_at(*secure, kOutsidePlt), "outside@plt");
  EXPECT_EQ(name_at(*secure, 0x3a4), "shop::handle(shop::Request&)@plt");
  EXPECT_EQ(name_at(*secure, 0x360), "first-call@plt");  // what all of .plt comes back to
  const auto plain = load(sample("sample.dwarf4.elf"));
  EXPECT_EQ(name_at(*plain, 0x280), "first-call@plt");
  EXPECT_EQ(name_at(*plain, 0x290), "outside@plt");
  EXPECT_EQ(name_at(*plain, 0x2a0), "shop::handle(shop::Request&)@plt");
}

TEST_F(ImageSymbolsTest, LinesOfBothVersionsOfDwarf) {
  const auto five = load(sample("sample.elf"));
  EXPECT_EQ(line_at(*five, 0x3b3), "/build/sample.cc:11");
  EXPECT_EQ(line_at(*five, 0x3cd), "/build/sample.cc:16");
  EXPECT_EQ(line_at(*five, kOutsidePlt), "");
  EXPECT_EQ(line_at(*five, kEnd), "");
  EXPECT_EQ(line_at(*load(sample("sample.dwarf4.elf")), 0x2b3), "/build/sample.cc:11");
}

TEST_F(ImageSymbolsTest, WhereALineBegins) {
  const auto symbols = load(sample("sample.elf"));
  EXPECT_EQ(symbols->offsets_of_line("sample.cc", 16), (std::vector<uint64_t>{0x3cb}));
  EXPECT_EQ(symbols->offsets_of_line("/build/sample.cc", 15), (std::vector<uint64_t>{0x3c2}));
  EXPECT_TRUE(symbols->offsets_of_line("ample.cc", 16).empty());
  EXPECT_TRUE(symbols->offsets_of_line("sample.cc", 9999).empty());
}

TEST_F(ImageSymbolsTest, NamesTheFilesOfItsLines) {
  for (const char* file : {"sample.elf", "sample.dwarf4.elf"}) {
    const auto symbols = load(sample(file));
    EXPECT_TRUE(symbols->names_source("/build/sample.cc")) << file;
    for (const char* other : {"sample.cc", "/build/.env", "/build", "", "/build/sample.cc/"}) {
      EXPECT_FALSE(symbols->names_source(other)) << file << ' ' << other;
    }
  }
  EXPECT_FALSE(load("/nowhere")->names_source("/build/sample.cc"));
}

// "shop::Mutex::take():7 shop::Guard::Guard(shop::Mutex&):10 ..."
std::string frames_at(const ImageSymbols& symbols, uint64_t offset) {
  std::string text;
  for (const SourceFrame& frame : symbols.frames(offset)) {
    EXPECT_EQ(frame.at.file, "/build/inlined.cc");
    text += (text.empty() ? "" : " ") + frame.function + ":" + std::to_string(frame.at.line);
  }
  return text;
}

std::string own_line_at(const ImageSymbols& symbols, uint64_t offset) {
  const auto line = symbols.own_line(offset);
  return line ? line->file + ":" + std::to_string(line->line) : "";
}

// The lock that a guard takes is called from a header, and a person looks for the line that made the guard.
TEST_F(ImageSymbolsTest, WhatWasInlinedHasALineOfTheFunctionAroundIt) {
  struct Places {
    const char* file;
    uint64_t lock, unlock, between, local;
  };
  for (const Places& at :
       {Places{"inlined.elf", 0x29a, 0x2af, 0x2a1, 0x27d}, Places{"inlined.clang.elf", 0x27a, 0x28f, 0x281, 0x2aa}}) {
    SCOPED_TRACE(at.file);
    const auto symbols = load(sample(at.file));
    EXPECT_EQ(line_at(*symbols, at.lock), "/build/inlined.cc:7");
    EXPECT_EQ(own_line_at(*symbols, at.lock), "/build/inlined.cc:15");
    EXPECT_EQ(frames_at(*symbols, at.lock),
              "shop::Mutex::take():7 shop::Guard::Guard(shop::Mutex&):10 shop::count(shop::Mutex&, int&):15");
    EXPECT_EQ(line_at(*symbols, at.unlock), "/build/inlined.cc:11");
    EXPECT_NE(frames_at(*symbols, at.unlock).find("shop::Guard::~Guard():11 shop::count("), std::string::npos);
    EXPECT_EQ(own_line_at(*symbols, at.between), "/build/inlined.cc:19");
    EXPECT_EQ(frames_at(*symbols, at.between), "shop::count(shop::Mutex&, int&):19");
    EXPECT_EQ(own_line_at(*symbols, at.local), "/build/inlined.cc:17");
    EXPECT_NE(frames_at(*symbols, at.local).find("::twice(int):17"), std::string::npos);
    EXPECT_EQ(own_line_at(*symbols, 0x250), "");
    EXPECT_TRUE(symbols->frames(0x250).empty());
    // No instruction is of that line itself: where the guard's begin.
    EXPECT_EQ(symbols->offsets_of_line("inlined.cc", 15), std::vector<uint64_t>{at.lock});
  }
}

// gcc's table has rows that the next one begins with: what is there is of the next one's line.
TEST_F(ImageSymbolsTest, ALineBeginsWhereItsOwnInstructionsDo) {
  const auto symbols = load(sample("inlined.elf"));
  for (uint32_t line = 1; line < 25; ++line) {
    for (const uint64_t offset : symbols->offsets_of_line("inlined.cc", line)) {
      const auto frames = symbols->frames(offset);
      EXPECT_TRUE(std::ranges::any_of(frames, [&](const SourceFrame& frame) { return frame.at.line == line; }))
          << line << " at " << offset << ", which is of " << line_at(*symbols, offset);
    }
  }
  EXPECT_TRUE(symbols->offsets_of_line("inlined.cc", 20).empty());
  // And the other way about, whichever line a listing names.
  for (uint64_t offset = 0x270; offset < 0x2bb; ++offset) {
    EXPECT_FALSE(symbols->offsets_of_line("inlined.cc", symbols->line(offset)->line).empty()) << offset;
  }
}

TEST_F(ImageSymbolsTest, AStrippedFileHasWhatItExports) {
  const auto symbols = load(sample("sample.stripped.elf"));
  EXPECT_EQ(name_at(*symbols, kHandle), "shop::handle(shop::Request&)");
  EXPECT_EQ(name_at(*symbols, kOutsidePlt), "outside@plt");
  EXPECT_EQ(name_at(*symbols, kHelper), "");
  const FunctionExtent extent = symbols->extent(kHelper + 2);
  EXPECT_EQ(extent.begin, kHelper);
  EXPECT_EQ(extent.end, kHandle);
  EXPECT_EQ(line_at(*symbols, kHandle), "");
}

TEST_F(ImageSymbolsTest, PackedSymbolsAreRead) {
  const auto symbols = load(sample("sample.mini.elf"));
  EXPECT_EQ(name_at(*symbols, kHelper), "shop::helper(int)");
  EXPECT_EQ(name_at(*symbols, kPlain), "plain");
}

TEST_F(ImageSymbolsTest, DebugFilesBesideTheOriginalPlace) {
  const std::string copy = put("sample.stripped.elf", "images/content");
  const std::string original = path_ + "/app/lib/sample.so";
  EXPECT_EQ(name_at(*load(copy, original), kHelper), "");
  for (const std::string place : {"app/lib/sample.debug", "app/lib/.debug/sample.debug"}) {
    const std::string debug = put("sample.debug", place);
    const auto symbols = load(copy, original);
    EXPECT_EQ(name_at(*symbols, kHelper), "shop::helper(int)") << place;
    EXPECT_EQ(line_at(*symbols, 0x3b3), "/build/sample.cc:11") << place;
    fs::remove(debug);
  }
}

TEST_F(ImageSymbolsTest, DebugFilesUnderTheRoot) {
  put("sample.debug", "root/.build-id/01/23456789abcdef.debug");
  auto file = ElfFile::open(sample("sample.stripped.elf"));
  ASSERT_TRUE(file.ok());
  EXPECT_TRUE(find_debug_file(*file, "", path_ + "/root").has_value());
  EXPECT_FALSE(find_debug_file(*file, "", path_).has_value());
  put("sample.debug", "other/usr/lib/sample.debug");
  EXPECT_TRUE(find_debug_file(*file, "/usr/lib/sample.so", path_ + "/other").has_value());
}

TEST_F(ImageSymbolsTest, ADebugFileOfAnotherBuildIsNotTaken) {
  const std::string copy = put("sample.stripped.elf", "sample.so");
  put("sample.dwarf4.debug", "sample.debug");
  EXPECT_EQ(name_at(*load(copy, copy), kHelper), "");
}

TEST_F(ImageSymbolsTest, WithoutABuildIdTheChecksumDecides) {
  const std::string copy = put("sample.dwarf4.stripped.elf", "sample.so");
  const std::string debug = put("sample.dwarf4.debug", "sample.dwarf4.debug");
  EXPECT_EQ(name_at(*load(copy, copy), 0x2b0), "shop::helper(int)");
  Fd file(::open(debug.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
  ASSERT_TRUE(write_whole(file.get(), "x", "test").ok());
  EXPECT_EQ(name_at(*load(copy, copy), 0x2b0), "");
}

TEST_F(ImageSymbolsTest, NamesThatPeopleWrite) {
  const auto symbols = load(sample("sample.elf"));
  const auto count = [&](std::string_view name) { return symbols->named(name).size(); };
  EXPECT_EQ(count("shop::helper"), 1u);
  EXPECT_EQ(count("helper"), 1u);
  EXPECT_EQ(count("shop::helper(int)"), 1u);
  EXPECT_EQ(count("_ZN4shopL6helperEi"), 1u);
  EXPECT_EQ(count("shop::h*"), 2u);  // not the entry of the linkage table
  EXPECT_EQ(count("help"), 0u);
  EXPECT_EQ(count("Request"), 0u);
  EXPECT_EQ(count(""), 0u);
  EXPECT_EQ(symbols->some_names(2).size(), 2u);
}

TEST_F(ImageSymbolsTest, ProblemsSayWhy) {
  EXPECT_NE(load("/nonexistent")->problem(), "");
  EXPECT_NE(load(write("text", "no ELF file at all"))->problem().find("no ELF file"), std::string::npos);
  EXPECT_NE(load("/dev/null")->problem().find("no regular file"), std::string::npos);
  Image image;
  image.missing = "not readable";
  EXPECT_EQ(ImageSymbols::load("", image)->problem(), "not readable");
  EXPECT_EQ(load("/nonexistent")->function(5), nullptr);
  EXPECT_FALSE(load("/nonexistent")->line(5).has_value());
}

// Every beginning, and many flipped bits: answers or none, and never one outside of the file's code.
TEST_F(ImageSymbolsTest, DamagedFilesAreRead) {
  for (const std::string name : {"sample.elf", "inlined.elf", "inlined.clang.elf"}) look_at_damage(sample(name));
}

void Folder::look_at_damage(const std::string& path) const {
  std::string whole(fs::file_size(path), '\0');
  Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  ASSERT_TRUE(read_whole(file.get(), 0, {reinterpret_cast<uint8_t*>(whole.data()), whole.size()}, "test").ok());
  const auto look = [&](const std::string& bytes) {
    const auto symbols = load(write("damaged", bytes));
    for (uint64_t offset = 0; offset < 0x500; offset += 0x10) {
      const FunctionExtent extent = symbols->extent(offset);
      EXPECT_TRUE(extent.begin <= offset && offset < extent.end);
      EXPECT_EQ(symbols->line(offset).has_value(), !symbols->frames(offset).empty());
      symbols->own_line(offset);
    }
    symbols->offsets_of_line("inlined.cc", 15);
  };
  for (size_t size = 0; size < whole.size(); size += 37) look(whole.substr(0, size));
  std::mt19937 random(7);
  for (int i = 0; i < 300; ++i) {
    std::string damaged = whole;
    for (int flips = 0; flips < 4; ++flips) damaged[random() % damaged.size()] ^= static_cast<char>(1u << random() % 8);
    look(damaged);
  }
}

TEST_F(ImageSymbolsTest, ManyThreadsMayAsk) {
  const auto symbols = load(sample("sample.elf"));
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (uint64_t offset = kHelper; offset < kEnd; ++offset) {
        EXPECT_NE(symbols->function(offset), nullptr);
        EXPECT_TRUE(symbols->line(offset).has_value());
      }
    });
  }
  for (auto& thread : threads) thread.join();
}

TEST(SymbolTable, LaterBeginsCoverEarlierOnesUntilTheyEnd) {
  SymbolTable table;
  const auto add = [&](uint64_t begin, uint64_t end, std::string_view name, uint32_t preference = 0) {
    table.add({begin, end, 1000, name, preference});
  };
  add(0, 100, "outer");
  add(20, 40, "inner");
  add(20, 40, "alias", 1);
  add(90, 120, "overlapping");
  add(200, 200, "without size");
  add(300, 2000, "too long");
  table.settle();
  const auto at = [&](uint64_t offset) {
    const auto extent = table.find(offset);
    std::string name = extent.symbol == kNoSymbol ? "-" : std::string(table.symbols()[extent.symbol].name);
    return name + " " + std::to_string(extent.begin) + " " + std::to_string(extent.end);
  };
  EXPECT_EQ(at(0), "outer 0 20");
  EXPECT_EQ(at(39), "alias 20 40");
  EXPECT_EQ(at(40), "outer 40 90");
  EXPECT_EQ(at(119), "overlapping 90 120");
  EXPECT_EQ(at(150), "- 120 200");
  EXPECT_EQ(at(299), "without size 200 300");
  EXPECT_EQ(at(999), "too long 300 1000");
  EXPECT_EQ(at(1000), "- 1000 " + std::to_string(UINT64_MAX));
}

// Against the plain reading of the rule, offset by offset.
TEST(SymbolTable, AgreesWithAModel) {
  std::mt19937 random(11);
  for (int round = 0; round < 300; ++round) {
    SymbolTable table;
    const size_t count = random() % 12;
    for (size_t i = 0; i < count; ++i) {
      const uint64_t begin = random() % 60;
      table.add({begin, begin + random() % 30, 64, "x", static_cast<uint32_t>(i)});
    }
    table.settle();
    const auto& symbols = table.symbols();
    for (uint64_t offset = 0; offset < 70; ++offset) {
      uint32_t wanted = kNoSymbol;
      for (uint32_t i = 0; i < symbols.size(); ++i) {
        if (symbols[i].begin <= offset && offset < symbols[i].end) wanted = i;
      }
      const auto found = table.find(offset);
      ASSERT_EQ(found.symbol, wanted) << "round " << round << " offset " << offset;
      ASSERT_TRUE(found.begin <= offset && offset < found.end) << "round " << round << " offset " << offset;
    }
  }
}

TEST(DebugData, DamageAndBombsAreRefused) {
  EXPECT_FALSE(unpack_debug_data("", 1000).ok());
  EXPECT_FALSE(unpack_debug_data("no xz", 1000).ok());
  auto file = ElfFile::open(sample("sample.mini.elf"));
  ASSERT_TRUE(file.ok());
  const auto packed = ElfFile::bytes(*file->section(".gnu_debugdata"));
  ASSERT_TRUE(unpack_debug_data(packed, 1 << 20).ok());
  EXPECT_FALSE(unpack_debug_data(packed.substr(0, packed.size() - 1), 1 << 20).ok());
  auto small = unpack_debug_data(packed, 100);
  ASSERT_FALSE(small.ok());
  EXPECT_EQ(small.error().code, ErrorCode::kExhausted);
}

TEST(Names, WhatIsMeant) {
  EXPECT_TRUE(means_function("push_back", "void std::vector<int>::push_back(int const&)"));
  EXPECT_TRUE(means_function("run", "int run<int>(int)"));
  EXPECT_TRUE(means_function("operator()", "Call::operator()(int) const"));
  EXPECT_TRUE(means_function("go", "(anonymous namespace)::go(int)"));
  EXPECT_FALSE(means_function("int", "void f(int)"));
  EXPECT_TRUE(means_function("*lock*", "pthread_mutex_lock"));
  EXPECT_EQ(demangled("_Z1fv@plt"), "f()@plt");
  EXPECT_EQ(demangled(std::string("_Z") + std::string(5000, '1')).size(), 4096u);
}

}  // namespace
}  // namespace fathom::snapshot

#include "snapshot/source/source_files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "base/testing/temp_directory.h"

namespace fathom::snapshot {
namespace {

namespace fs = std::filesystem;

class SourceFilesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    write("src/shop/main.cc", "one\ntwo\r\nthree\nfour\nfive");
    write("secret", "password\n");
  }

  void write(const std::string& name, const std::string& bytes) const {
    fs::create_directories(fs::path(path_ + "/" + name).parent_path());
    std::ofstream(path_ + "/" + name, std::ios::binary) << bytes;
  }
  std::unique_ptr<SourceFiles> files(const std::vector<std::string>& texts) const {
    auto directories = parse_source_directories(texts);
    EXPECT_TRUE(directories.ok());
    return std::make_unique<SourceFiles>(*directories);
  }
  std::unique_ptr<SourceFiles> build() const { return files({"/build/=" + path_ + "/src"}); }
  static std::string one(const SourceFiles& files, const std::string& name, uint32_t line = 1) {
    auto text = files.text(name, line, 0);
    return text ? text->lines.at(0) : text.error().message;
  }

  TempDirectory scratch_;
  const std::string path_ = scratch_.path();
};

TEST_F(SourceFilesTest, ALineAndThoseAroundIt) {
  auto text = build()->text("/build/shop/main.cc", 2, 1);
  ASSERT_TRUE(text.ok()) << text.error().message;
  EXPECT_EQ(text->first_line, 1u);
  EXPECT_EQ(text->lines, (std::vector<std::string>{"one", "two", "three"}));
  auto all = build()->text("/build/shop/main.cc", 4, 50);
  ASSERT_TRUE(all.ok());
  EXPECT_EQ(all->first_line, 1u);
  EXPECT_EQ(all->lines.size(), 5u);
  EXPECT_EQ(all->lines.back(), "five");
}

TEST_F(SourceFilesTest, NamesAreMatchedByWholeParts) {
  EXPECT_EQ(one(*build(), "/build/./x/../shop//main.cc"), "one");
  EXPECT_NE(one(*build(), "/builder/shop/main.cc").find("--source-dir FROM=TO"), std::string::npos);
  EXPECT_EQ(one(*files({path_ + "/src"}), path_ + "/src/shop/main.cc"), "one");
  EXPECT_EQ(one(*files({".=" + path_ + "/src"}), "./shop/main.cc"), "one");
  EXPECT_EQ(one(*files({"shop=" + path_ + "/src/shop"}), "shop/main.cc"), "one");
  EXPECT_EQ(one(*files({"/"}), path_ + "/src/shop/main.cc"), "one");
  EXPECT_EQ(one(*files({"/build=" + path_, "/build=" + path_ + "/src"}), "/build/shop/main.cc"), "one");
}

TEST_F(SourceFilesTest, AStarStandsForWhereverItWasBuilt) {
  const auto anywhere = files({"*/src=" + path_ + "/src"});
  for (const std::string name : {"/a/b/src/shop/main.cc", "../../src/shop/main.cc", "src/shop/main.cc",
                                 "/src/src/shop/main.cc", "/src/x/../shop/main.cc"}) {
    EXPECT_EQ(one(*anywhere, name), "one") << name;
  }
  for (const std::string name :
       {"/a/mysrc/shop/main.cc", "/src/../shop/main.cc", "/src/../../src/../secret", "/a/src"}) {
    EXPECT_FALSE(anywhere->text(name, 1, 0).ok()) << name;
  }
  EXPECT_FALSE(files({"*/..=" + path_ + "/src"})->text("../../secret", 1, 0).ok());
}

TEST_F(SourceFilesTest, NamesMayLeadUpAsFarAsADirectoryDoes) {
  const auto up = files({"../../examples=" + path_ + "/src"});
  EXPECT_EQ(one(*up, "../../examples/shop/main.cc"), "one");
  for (const std::string name :
       {"../examples/shop/main.cc", "../../examples/../secret", "../../examples/../../secret"}) {
    EXPECT_FALSE(up->text(name, 1, 0).ok()) << name;
  }
  EXPECT_FALSE(files({"..=" + path_ + "/src"})->text("../../secret", 1, 0).ok());
  EXPECT_FALSE(files({".=" + path_ + "/src"})->text("../secret", 1, 0).ok());
}

TEST_F(SourceFilesTest, NothingOutsideIsOpened) {
  fs::create_symlink(path_ + "/secret", path_ + "/src/absolute");
  fs::create_symlink("../secret", path_ + "/src/relative");
  fs::create_symlink("shop/main.cc", path_ + "/src/inside");
  fs::create_symlink("/proc/self/cwd", path_ + "/src/magic");
  for (const std::string name : {"/build/absolute", "/build/relative", "/build/../secret", "/build/shop/../../secret",
                                 "../secret", "/etc/passwd", "", "/build/", "/build", "/build/shop", "/build/magic"}) {
    EXPECT_FALSE(build()->text(name, 1, 0).ok()) << name;
  }
  EXPECT_FALSE(build()->text(std::string("/build/shop/main.cc\0.x", 22), 1, 0).ok());
  EXPECT_FALSE(build()->text(std::string(100'000, '/'), 1, 0).ok());
  EXPECT_FALSE(files({})->text(path_ + "/src/shop/main.cc", 1, 0).ok());
  EXPECT_EQ(one(*build(), "/build/inside"), "one");
}

TEST_F(SourceFilesTest, OnlyRegularFilesOfSomeSize) {
  ASSERT_EQ(::mkfifo((path_ + "/src/pipe").c_str(), 0600), 0);
  EXPECT_FALSE(build()->text("/build/pipe", 1, 0).ok()) << "and does not wait for a writer";
  EXPECT_FALSE(files({"/dev"})->text("/dev/zero", 1, 0).ok());
  write("src/large", std::string(kMostSourceBytes + 1, '\n'));
  EXPECT_EQ(build()->text("/build/large", 1, 0).error().code, ErrorCode::kExhausted);
  write("src/empty", "");
  EXPECT_FALSE(build()->text("/build/empty", 1, 0).ok());
}

TEST_F(SourceFilesTest, LinesThatAreNotThere) {
  EXPECT_FALSE(build()->text("/build/shop/main.cc", 0, 3).ok());
  EXPECT_NE(one(*build(), "/build/shop/main.cc", 6).find("has 5 lines"), std::string::npos);
  EXPECT_FALSE(build()->text("/build/shop/main.cc", UINT32_MAX, UINT32_MAX).ok());
  write("src/ended", "a\nb\n");
  EXPECT_EQ(one(*build(), "/build/ended", 2), "b");
  EXPECT_FALSE(build()->text("/build/ended", 3, 0).ok());
}

TEST_F(SourceFilesTest, LongLinesAreCutBetweenCharacters) {
  std::string line(kMostLineBytes - 1, 'x');
  for (int i = 0; i < 10; ++i) line += "\xc3\xa9";
  write("src/long", line);
  EXPECT_EQ(one(*build(), "/build/long"), std::string(kMostLineBytes - 1, 'x'));
}

TEST_F(SourceFilesTest, WhatChangedIsReadAgain) {
  const auto kept = build();
  EXPECT_EQ(one(*kept, "/build/shop/main.cc"), "one");
  write("src/shop/main.cc", "another\n");
  EXPECT_EQ(one(*kept, "/build/shop/main.cc"), "another");
  fs::remove(path_ + "/src/shop/main.cc");
  EXPECT_NE(one(*kept, "/build/shop/main.cc"), "another");
}

// More of them than are kept, by their number and by their size.
TEST_F(SourceFilesTest, AnyNumberOfFiles) {
  const auto sources = build();
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < 300; ++i) {
      const std::string name = std::to_string(i) + ".cc";
      if (round == 0) write("src/" + name, name + "\n" + std::string(i < 20 ? kMostSourceBytes - 10 : 0, 'x'));
      ASSERT_EQ(one(*sources, "/build/" + name), name);
    }
  }
}

TEST_F(SourceFilesTest, DirectoriesAsPeopleWriteThem) {
  for (const char* text : {"", "=", "=/x", "/x=", "relative", "/x=relative", "."}) {
    EXPECT_FALSE(parse_source_directory(text).ok()) << text;
  }
  auto parsed = parse_source_directory("/build/a/=/src//b/");
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ(parsed->from, "/build/a");
  EXPECT_EQ(parsed->to, "/src/b");
}

}  // namespace
}  // namespace fathom::snapshot

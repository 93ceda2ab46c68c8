#include "apps/recorder/options.h"

#include <gtest/gtest.h>

#include "apps/recorder/report.h"
#include "cli/record.h"

namespace fathom {
namespace {

Result<RecorderOptions> options_of(const std::vector<std::string>& words) {
  auto args = cli::parse_args(cli::record_line(), words);
  if (!args) return args.error();
  cli::Context context;
  context.env = [](const char* name) {
    return std::string(name) == "HOME" ? std::optional<std::string>("/home/someone") : std::nullopt;
  };
  return recorder_options(*args, context);
}

std::string fault_of(const std::vector<std::string>& words) {
  auto options = options_of(words);
  return options ? "" : options.error().message;
}

TEST(RecorderOptions, AWholeProgram) {
  auto options = options_of({"--", "ls", "-l"});
  ASSERT_TRUE(options);
  EXPECT_EQ(options->command, (std::vector<std::string>{"ls", "-l"}));
  EXPECT_EQ(options->directory, "/home/someone/.local/share/fathom/snapshots");
  EXPECT_TRUE(options->limits.all_threads);
  EXPECT_EQ(options->limits.most_steps, 1'000'000U);
}

TEST(RecorderOptions, RootSaysWhetherPrivateImagesAreCopied) {
  const auto copies = [](const std::vector<std::string>& words, bool is_root) {
    return copies_private_images(*cli::parse_args(cli::record_line(), words), is_root);
  };
  EXPECT_FALSE(copies({"--", "ls"}, true));
  EXPECT_TRUE(copies({"--private-images", "--", "ls"}, true));
  EXPECT_TRUE(copies({"--", "ls"}, false));
}

TEST(RecorderOptions, WindowsStepOneThreadUnlessAllAreAskedFor) {
  auto one = options_of({"--function", "checkout", "--count", "3", "--", "shop"});
  ASSERT_TRUE(one);
  EXPECT_FALSE(one->limits.all_threads);
  EXPECT_EQ(one->limits.windows, 3U);
  auto all = options_of({"--span", "reserve", "--min-duration", "5ms", "--threads", "all", "--", "shop"});
  ASSERT_TRUE(all);
  EXPECT_TRUE(all->limits.all_threads);
  EXPECT_EQ(all->least_nano, 5'000'000U);
}

TEST(RecorderOptions, WhatDoesNotGoTogetherIsRefusedByName) {
  EXPECT_NE(fault_of({}).find("COMMAND"), std::string::npos);
  EXPECT_NE(fault_of({"--function", "f", "--span", "s", "--", "x"}).find("only one"), std::string::npos);
  EXPECT_NE(fault_of({"--min-duration", "5ms", "--", "x"}).find("--span"), std::string::npos);
  EXPECT_NE(fault_of({"--count", "2", "--", "x"}).find("--function"), std::string::npos);
  EXPECT_NE(fault_of({"--threads", "one", "--", "x"}).find("--function"), std::string::npos);
  EXPECT_NE(fault_of({"--engine", "magic", "--", "x"}).find("--engine"), std::string::npos);
}

TEST(RecorderOptions, AWholeProgramBeginsAtMainUnlessTheLinkerIsAskedFor) {
  EXPECT_FALSE(options_of({"--", "ls"})->from_linker);
  EXPECT_TRUE(options_of({"--from", "start", "--", "ls"})->from_linker);
  EXPECT_TRUE(options_of({"--engine", "pt", "--from", "start", "--", "ls"}).ok());
  EXPECT_NE(fault_of({"--from", "middle", "--", "x"}).find("--from"), std::string::npos);
  EXPECT_NE(fault_of({"--from", "start", "--function", "f", "--", "x"}).find("whole program"), std::string::npos);
  EXPECT_NE(fault_of({"--from", "main", "--engine", "pt", "--", "x"}).find("--engine step"), std::string::npos);
}

TEST(RecorderOptions, FunctionsAreBoundAtTheStartUnlessTheEnvironmentIsKept) {
  EXPECT_TRUE(options_of({"--", "ls"})->bind_now);
  EXPECT_TRUE(options_of({"--function", "f", "--", "ls"})->bind_now);
  EXPECT_FALSE(options_of({"--keep-environment", "--", "ls"})->bind_now);
  EXPECT_FALSE(options_of({"--from", "start", "--", "ls"})->bind_now) << "the linker's work is what is recorded";
}

TEST(RecorderOptions, WhatSteppingLeavesOutOfAutoIsSaid) {
  const auto plain = options_of({"--function", "f", "--", "x"});
  EXPECT_EQ(stepping_remark(*plain), "");
  const auto around = options_of({"--function", "f", "--before", "5ms", "--", "x"});
  ASSERT_TRUE(around) << around.error().message;
  EXPECT_NE(stepping_remark(*around).find("--before and --after are for Intel PT"), std::string::npos);
}

TEST(RecorderOptions, WhatOneEngineAloneCanIsRefusedToTheOther) {
  auto options = options_of({"--engine", "pt", "--function", "f", "--after", "50ms", "--", "x"});
  ASSERT_TRUE(options) << options.error().message;
  EXPECT_EQ(options->before_nano, 1'000'000U);
  EXPECT_EQ(options->after_nano, 50'000'000U);
  EXPECT_TRUE(options_of({"--engine", "pt", "--span", "s", "--threads", "all", "--", "x"}).ok());
  EXPECT_NE(fault_of({"--engine", "pt", "--steps", "7", "--", "x"}).find("--engine step"), std::string::npos);
  EXPECT_NE(fault_of({"--engine", "pt", "--span", "s", "--threads", "one", "--", "x"}).find("all threads"),
            std::string::npos);
  EXPECT_NE(fault_of({"--engine", "step", "--function", "f", "--after", "5ms", "--", "x"}).find("--engine pt"),
            std::string::npos);
  EXPECT_NE(fault_of({"--span", "s", "--before", "5ms", "--", "x"}).find("--function"), std::string::npos);
}

TEST(RecorderOptions, TheWordsOfTheOtherProgramSayTheSame) {
  auto args = cli::parse_args(cli::record_line(), {"--function", "--odd", "--steps", "7", "--", "ls", "--help"});
  EXPECT_FALSE(args);
  args = cli::parse_args(cli::record_line(), {"--no-push", "--url", "http://h", "--json", "-", "--", "ls"});
  ASSERT_TRUE(args);
  EXPECT_EQ(cli::record_words(*args),
            (std::vector<std::string>{"--json=-", "--no-push", "--url=http://h", "--", "ls"}));
  EXPECT_FALSE(options_of(cli::record_words(*args))->push);
  args = cli::parse_args(cli::record_line(), {"--function=--odd", "--steps", "7", "--", "ls", "--help"});
  ASSERT_TRUE(args);
  const auto words = cli::record_words(*args);
  EXPECT_EQ(words, (std::vector<std::string>{"--function=--odd", "--steps=7", "--", "ls", "--help"}));
  auto again = cli::parse_args(cli::record_line(), words);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->get("--function"), "--odd");
  EXPECT_EQ(again->positionals_from(0), (std::vector<std::string>{"ls", "--help"}));
}

TEST(RecorderOptions, WithoutAUnitThereIsNoIntelPt) {
  EXPECT_NE(why_no_pt("/nowhere/intel_pt").value_or("").find("/nowhere/intel_pt"), std::string::npos);
  EXPECT_EQ(why_no_pt("/"), std::nullopt);
}

}  // namespace
}  // namespace fathom

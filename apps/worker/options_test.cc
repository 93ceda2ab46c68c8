#include "apps/worker/options.h"

#include <gtest/gtest.h>

namespace fathom {
namespace {

Result<WorkerOptions> parse(std::vector<std::string> words) {
  words.insert(words.begin(), {"--directory", "/snapshots"});
  Result<cli::Args> args = cli::parse_args(worker_command_line(), words);
  if (!args) return args.error();
  return worker_options(*args, {"/home/someone"});
}

std::string error_of(const std::vector<std::string>& words) {
  auto options = parse(words);
  return options ? "taken" : options.error().message;
}

TEST(WorkerOptions, AQuestion) {
  auto options =
      parse({"delta", "last", "--from", "cli", "--to", "sti", "--tid", "7", "--limit", "9", "--format", "json"});
  ASSERT_TRUE(options) << options.error().message;
  EXPECT_EQ(options->task, WorkerTask::kAsk);
  EXPECT_EQ(options->question.verb, snapshot::Verb::kDelta);
  EXPECT_EQ(options->question.from, "cli");
  EXPECT_EQ(options->question.to, "sti");
  EXPECT_EQ(options->question.tid, 7);
  EXPECT_EQ(options->question.limit, 9u);
  EXPECT_EQ(options->question.format, snapshot::Format::kJson);
  EXPECT_EQ(options->id, "last");
  EXPECT_EQ(options->memory_bytes, uint64_t{1} << 30);
  EXPECT_EQ(parse({"stats", "last"})->question.tid, -1);
}

TEST(WorkerOptions, SourceIsReadWhereItIsAllowed) {
  EXPECT_TRUE(parse({"insns", "last"})->question.source_directories.empty());
  EXPECT_TRUE(parse({"insns", "last"})->cache);
  auto options = parse({"insns", "last", "--inlines", "--source", "--source-dir", "/build=/src"});
  ASSERT_TRUE(options) << options.error().message;
  EXPECT_TRUE(options->question.inlines);
  ASSERT_EQ(options->question.source_directories.size(), 2u);
  EXPECT_EQ(options->question.source_directories[0].to, "/src") << "before all others";
  EXPECT_EQ(options->question.source_directories[1].to, "/");
  EXPECT_FALSE(options->cache) << "files change";
  EXPECT_NE(error_of({"calls", "last", "--source-dir", "src"}).find("--source-dir: 'src' is no FROM=TO"),
            std::string::npos);
}

TEST(WorkerOptions, CallsAreRankedByTimeUnlessInstructionsAreAskedFor) {
  EXPECT_FALSE(parse({"calls", "last"})->question.by_instructions);
  EXPECT_FALSE(parse({"calls", "last", "--by", "time"})->question.by_instructions);
  EXPECT_TRUE(parse({"calls", "last", "--by", "instructions"})->question.by_instructions);
  EXPECT_NE(error_of({"calls", "last", "--by", "calls"}).find("--by"), std::string::npos);
}

TEST(WorkerOptions, TablesForPeopleAreShort) {
  EXPECT_EQ(parse({"calls", "last"})->question.limit, 60u);
  EXPECT_EQ(parse({"functions", "last"})->question.limit, 40u);
  EXPECT_EQ(parse({"insns", "last"})->question.limit, 0u);
  EXPECT_EQ(parse({"calls", "last", "--format", "json"})->question.limit, 0u);
  EXPECT_EQ(parse({"calls", "last", "--limit", "0"})->question.limit, 0u);
}

TEST(WorkerOptions, AListHasALimitOfItsOwn) {
  EXPECT_EQ(parse({"list"})->question.limit, 0u);
  EXPECT_EQ(parse({"list", "--limit", "3"})->question.limit, 3u);
}

TEST(WorkerOptions, AViewOfOneSnapshot) {
  auto options = parse({"view", "last"});
  ASSERT_TRUE(options) << options.error().message;
  EXPECT_EQ(options->task, WorkerTask::kView);
  EXPECT_EQ(options->id, "last");
  EXPECT_NE(error_of({"view"}).find("snapshot's id"), std::string::npos);
  EXPECT_NE(error_of({"view", "a", "b"}).find("one"), std::string::npos);
}

TEST(WorkerOptions, APerfDataToImport) {
  auto options = parse({"import", "perf.data", "--image", "a", "--image", "b@1000", "--symfs", "/s", "--kcore", "/k"});
  ASSERT_TRUE(options) << options.error().message;
  ASSERT_TRUE(options->perf);
  EXPECT_EQ(options->perf->path, "perf.data");
  ASSERT_EQ(options->perf->images.size(), 2u);
  EXPECT_EQ(*options->perf->images[1].base, 0x1000u);
  EXPECT_EQ(options->perf->symfs, "/s");
  EXPECT_EQ(options->perf->kcore, "/k");
  EXPECT_EQ(options->perf->debug_directory, "/home/someone/.debug");
}

TEST(WorkerOptions, WhatIsOpenedElsewhereAndWhatIsUnsafe) {
  auto options = parse({"calls", "last"});
  ASSERT_TRUE(options) << options.error().message;
  EXPECT_FALSE(options->is_unsafe || options->opens_host_code || options->opens_host_sources);
  EXPECT_TRUE(parse({"calls", "last", "--unsafe-worker"})->is_unsafe);
  EXPECT_TRUE(parse({"calls", "last", "--host-code"})->opens_host_code);
  EXPECT_TRUE(parse({"calls", "last", "--source"})->opens_host_sources);
  EXPECT_FALSE(parse({"calls", "last", "--source-dir", "/build=/src"})->opens_host_sources);
}

TEST(WorkerOptions, ARawStreamToImport) {
  auto options = parse({"import", "--pt", "s.pt", "--cpu", "6/142/10", "--mtc-freq", "3", "--nom-freq", "28",
                        "--cpuid-0x15", "2/168", "--image", "a"});
  ASSERT_TRUE(options) << options.error().message;
  ASSERT_TRUE(options->raw);
  EXPECT_EQ(options->raw->path, "s.pt");
  EXPECT_EQ(options->raw->cpu, (snapshot::Cpu{true, 6, 142, 10}));
  EXPECT_EQ(options->raw->timing, (snapshot::Timing{3, 28, 2, 168, 0, 0, 0}));
}

TEST(WorkerOptions, WhatIsWrongIsNamed) {
  EXPECT_NE(error_of({"dance", "last"}).find("'dance'"), std::string::npos);
  EXPECT_NE(error_of({"calls"}).find("one snapshot's id"), std::string::npos);
  EXPECT_NE(error_of({"calls", "a", "b"}).find("not 2"), std::string::npos);
  EXPECT_NE(error_of({"diff", "last"}).find("diff ID OTHER"), std::string::npos);
  EXPECT_EQ(parse({"diff", "last", "abcd"})->other, "abcd");
  EXPECT_EQ(parse({"diff", "last", "--other", "abcd"})->other, "abcd");
  EXPECT_NE(error_of({"delta", "last", "--from", "cli"}).find("--to PATTERN"), std::string::npos);
  EXPECT_NE(error_of({"delta", "last", "--to", "cli"}).find("--from PATTERN"), std::string::npos);
  EXPECT_NE(error_of({"list", "last"}).find("lists all"), std::string::npos);
  EXPECT_NE(error_of({"import", "--pt", "s", "--mtc-freq", "16"}).find("--mtc-freq"), std::string::npos);
  EXPECT_NE(error_of({"import", "--pt", "s", "--cpuid-0x15", "0/168"}).find("no ratio"), std::string::npos);
  EXPECT_NE(error_of({"import", "--pt", "s", "--cpuid-0x15", "2/0"}).find("no ratio"), std::string::npos);
  EXPECT_NE(error_of({"import", "a", "--pt", "b"}).find("not both"), std::string::npos);
  EXPECT_NE(error_of({"import", "a", "--cpu", "6/1/1"}).find("--pt"), std::string::npos);
  EXPECT_NE(error_of({"import", "--pt", "b", "--cpu", "6"}).find("FAMILY/MODEL/STEPPING"), std::string::npos);
  EXPECT_NE(error_of({"import", "--pt", "b", "--mtc-freq", "300"}).find("--mtc-freq"), std::string::npos);
  EXPECT_NE(error_of({"calls", "last", "--format", "png"}).find("--format"), std::string::npos);
  EXPECT_NE(error_of({"calls", "last", "--memory-mib", "1"}).find("--memory-mib"), std::string::npos);
}

}  // namespace
}  // namespace fathom

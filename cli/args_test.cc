#include "cli/args.h"

#include <gtest/gtest.h>

#include "cli/help.h"
#include "cli/suggest.h"

namespace fathom::cli {
namespace {

CommandLine example_line() {
  return {"fathom find",
          "finds things",
          "A paragraph about finding.",
          {{"THING", "what to find"}},
          {{"--service", "S", "only this service"},
           {"--where", "KEY=VALUE", "with this attribute", "", true},
           {"--errors", "", "only failures"},
           {"--limit", "N", "how many", "20"},
           {"--since", "D", "how far back", "1h"},
           {"--size", "SIZE", "how much", "1KiB"},
           {"--by", "trace|span", "what", "trace"}},
          {{"fathom find x", "finds x"}}};
}

const CommandLine& find_line() {
  static const CommandLine kLine = example_line();
  return kLine;
}

Args parsed_args(std::vector<std::string> words) {
  words.push_back("thing");
  Result<Args> args = parse_args(find_line(), words);
  EXPECT_TRUE(args.ok()) << args.error().message;
  return args ? *args : Args();
}

std::string refused_words(const std::vector<std::string>& words) {
  Result<Args> args = parse_args(find_line(), words);
  EXPECT_FALSE(args.ok());
  if (args) return "";
  EXPECT_EQ(args.error().code, ErrorCode::kInvalid);
  return args.error().message;
}

TEST(ParseArgs, BothSpellingsOfAValue) {
  EXPECT_EQ(parsed_args({"--service", "a b"}).get("--service"), "a b");
  EXPECT_EQ(parsed_args({"--service=a=b"}).get("--service"), "a=b");
  EXPECT_EQ(parsed_args({"--service="}).get("--service"), "");
  EXPECT_EQ(parsed_args({"--service", "-"}).get("--service"), "-");
  EXPECT_EQ(parsed_args({"--service", "-x"}).get("--service"), "-x");
  EXPECT_EQ(parsed_args({"--service=--x"}).get("--service"), "--x");
}

TEST(ParseArgs, WhatIsNotGivenFallsBack) {
  Args args = parsed_args({});
  EXPECT_EQ(args.get("--limit"), "20");
  EXPECT_FALSE(args.given("--limit"));
  EXPECT_FALSE(args.has("--errors"));
  EXPECT_TRUE(parsed_args({"--errors"}).has("--errors"));
  EXPECT_TRUE(args.all("--where").empty());
}

TEST(ParseArgs, RepeatableFlagsKeepTheirOrder) {
  EXPECT_EQ(parsed_args({"--where", "b=1", "--where=a=2"}).all("--where"), (std::vector<std::string>{"b=1", "a=2"}));
  EXPECT_EQ(refused_words({"x", "--limit", "1", "--limit", "2"}), "--limit is given twice");
}

TEST(ParseArgs, UnknownFlagsAreNamedWithTheNearest) {
  EXPECT_EQ(refused_words({"--servise", "x"}),
            "unknown flag --servise (did you mean --service?); see fathom find --help");
  EXPECT_EQ(refused_words({"--zzzzzz"}), "unknown flag --zzzzzz; see fathom find --help");
  EXPECT_EQ(refused_words({"--serv=x"}), "unknown flag --serv (did you mean --service?); see fathom find --help");
  EXPECT_NE(refused_words({"--\x1b[31m"}).find("\\x1b"), std::string::npos);
}

TEST(ParseArgs, MissingAndSurplusWords) {
  EXPECT_EQ(refused_words({}), "missing THING; see fathom find --help");
  EXPECT_EQ(refused_words({"a", "b"}), "unexpected argument 'b'; see fathom find --help");
  EXPECT_NE(refused_words({"x", "--service"}).find("--service needs a value: --service S"), std::string::npos);
  EXPECT_NE(refused_words({"x", "--service", "--errors"}).find("--service needs a value"), std::string::npos);
  EXPECT_EQ(refused_words({"x", "--errors=yes"}), "--errors takes no value");
}

TEST(ParseArgs, DoubleDashEndsTheFlags) {
  Result<Args> args = parse_args(find_line(), {"--", "--service"});
  ASSERT_TRUE(args.ok());
  EXPECT_EQ(args->positional(0), "--service");
}

TEST(ParseArgs, HelpNeedsNothingElse) {
  EXPECT_TRUE(parse_args(find_line(), {"--help"})->wants_help());
  EXPECT_TRUE(parse_args(find_line(), {"--limit", "3", "-h"})->wants_help());
}

TEST(ParseArgs, TypedValues) {
  EXPECT_EQ(*parsed_args({}).duration_nano("--since"), 3'600'000'000'000u);
  EXPECT_EQ(*parsed_args({"--limit=7"}).number("--limit", 1, 10), 7u);
  EXPECT_EQ(*parsed_args({}).size_bytes("--size"), 1024u);
  EXPECT_EQ(*parsed_args({"--by=span"}).one_of("--by", {"trace", "span"}), "span");
}

TEST(ParseArgs, WrongValuesNameTheFlagAndTheCure) {
  EXPECT_NE(parsed_args({"--since=5"}).duration_nano("--since").error().message.find("--since: '5' is not a duration"),
            std::string::npos);
  for (const char* text :
       {"--limit=0", "--limit=11", "--limit=", "--limit=3x", "--limit=-1", "--limit=99999999999999999999"}) {
    Result<uint64_t> number = parsed_args({text}).number("--limit", 1, 10);
    ASSERT_FALSE(number.ok()) << text;
    EXPECT_NE(number.error().message.find("is not a whole number from 1 to 10"), std::string::npos);
  }
  EXPECT_EQ(parsed_args({"--by=spam"}).one_of("--by", {"trace", "span"}).error().message,
            "--by: 'spam' is none of trace, span (did you mean span?)");
  EXPECT_FALSE(parsed_args({"--size=many"}).size_bytes("--size").ok());
}

TEST(Suggest, CountsChangesAndSwaps) {
  EXPECT_EQ(edit_distance("", "abc"), 3u);
  EXPECT_EQ(edit_distance("slowest", "slowest"), 0u);
  EXPECT_EQ(edit_distance("slwoest", "slowest"), 1u);
  EXPECT_EQ(edit_distance("slowst", "slowest"), 1u);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3u);
  EXPECT_EQ(edit_distance(std::string(10'000, 'a'), "b"), 10'000u) << "never quadratic in what is typed";
}

TEST(Suggest, TheNearestComeFirstEachOnce) {
  const std::vector<std::string> known = {"gateways", "gateway", "load", "gateway", "gatewax"};
  EXPECT_EQ(nearest_few("gatewya", known, 5), (std::vector<std::string>{"gateway", "gateways", "gatewax"}));
  EXPECT_EQ(nearest_few("gatewya", known, 1), (std::vector<std::string>{"gateway"}));
  EXPECT_EQ(nearest_few("gateway", known, 2), (std::vector<std::string>{"gateway", "gateways"})) << "and itself";
  EXPECT_EQ(did_you_mean({"a"}), " (did you mean a?)");
  EXPECT_EQ(did_you_mean({"a", "b", "c"}), " (did you mean a, b or c?)");
  EXPECT_EQ(did_you_mean(std::vector<std::string>{}), "");
}

TEST(Suggest, SaysNothingRatherThanNonsense) {
  EXPECT_EQ(nearest("up", {"trace", "services"}), std::nullopt);
  EXPECT_EQ(nearest("trase", {"trace", "services"}), "trace");
  for (const char* word : {"x", "fs", "on", "maybe"}) EXPECT_EQ(nearest(word, {"fsync", "os"}), std::nullopt) << word;
  EXPECT_EQ(nearest("sync", {"fsync", "os"}), "fsync");
  EXPECT_EQ(nearest("oss", {"fsync", "os"}), "os");
}

TEST(Help, IsTheTableInWords) {
  EXPECT_EQ(command_help(find_line()),
            "fathom find: finds things\n"
            "\n"
            "usage: fathom find THING [flags]\n"
            "\n"
            "A paragraph about finding.\n"
            "\n"
            "  THING                  what to find\n"
            "  --service S            only this service\n"
            "  --where KEY=VALUE ...  with this attribute\n"
            "  --errors               only failures\n"
            "  --limit N              how many (default: 20)\n"
            "  --since D              how far back (default: 1h)\n"
            "  --size SIZE            how much (default: 1KiB)\n"
            "  --by trace|span        what (default: trace)\n"
            "  --help                 this text\n"
            "\n"
            "examples:\n"
            "  # finds x\n"
            "  fathom find x\n");
}

TEST(Help, WrapsAtBlanks) {
  EXPECT_EQ(wrap("aa bb cc dd", 5, 0), "aa bb\ncc dd");
  EXPECT_EQ(wrap("aa bb cc", 7, 2), "aa bb\n  cc");
  EXPECT_EQ(wrap("unbreakably-long x", 5, 0), "unbreakably-long\nx");
}

}  // namespace
}  // namespace fathom::cli

#include "cli/config_file.h"

#include <gtest/gtest.h>

#include "cli/filter_flags.h"
#include "cli/testing/scratch.h"

namespace fathom::cli {
namespace {

const CommandLine& thing_line() {
  static const CommandLine kLine{"fathom-thing",
                                 "does things",
                                 "",
                                 {},
                                 join({config_flags(),
                                       {{"--data", "DIR", "where"},
                                        {"--retention-age", "D", "how long", "7d"},
                                        {"--durability", "fsync|os", "what is promised", "fsync"},
                                        {"--where", "K=V", "only these", "", true},
                                        {"--pt", "", "record"},
                                        {"--ready-fd", "N", "a descriptor", "", false, true}}}),
                                 {}};
  return kLine;
}

Args args_of(std::string_view text) {
  Result<ConfigFile> file = parse_config(thing_line(), "a.conf", text);
  EXPECT_TRUE(file.ok()) << file.error().message;
  return file ? file->args : Args();
}

std::string refused_text(std::string_view text) {
  Result<ConfigFile> file = parse_config(thing_line(), "a.conf", text);
  EXPECT_FALSE(file.ok()) << text;
  if (file) return "";
  EXPECT_EQ(file.error().code, ErrorCode::kInvalid);
  return file.error().message;
}

TEST(ConfigFile, ReadsKeysSwitchesCommentsAndBlanks) {
  Args args = args_of(
      "# all of it\r\n\n  data=/srv/a b#c  # here\n\tretention-age\t=  2d \npt = yes\nwhere = a=1\nwhere = b=2");
  EXPECT_EQ(args.get("--data"), "/srv/a b#c");
  EXPECT_EQ(args.get("--retention-age"), "2d");
  EXPECT_TRUE(args.has("--pt"));
  EXPECT_EQ(args.all("--where"), (std::vector<std::string>{"a=1", "b=2"}));
  EXPECT_EQ(args.get("--durability"), "fsync");
  EXPECT_FALSE(args_of("pt = no").has("--pt"));
  EXPECT_EQ(args_of("data =").given("--data"), "");
  EXPECT_EQ(args_of("").given("--data"), std::nullopt);
}

TEST(ConfigFile, WrongLinesAreNamedWithTheirCure) {
  EXPECT_EQ(refused_text("\n# x\nretention-aeg = 7d\n"),
            "a.conf:3: unknown key 'retention-aeg' (did you mean retention-age?); 'fathom-thing --print-config' shows "
            "all");
  EXPECT_EQ(refused_text("--data = /x"), "a.conf:1: keys are written without '--': data");
  EXPECT_EQ(refused_text("data"), "a.conf:1: 'data' has no value; write data = DIR");
  EXPECT_EQ(refused_text("pt = on"), "a.conf:1: 'pt' takes yes or no, not 'on'; write pt = yes");
  EXPECT_EQ(refused_text("pt = maybe"), "a.conf:1: 'pt' takes yes or no, not 'maybe'");
  EXPECT_EQ(refused_text("data = a\ndata = b"), "a.conf:2: 'data' is given twice; line 1 has it, too");
  EXPECT_EQ(refused_text("ready-fd = 3"), "a.conf:1: 'ready-fd' is of the command line only");
  EXPECT_EQ(refused_text("config = b.conf"), "a.conf:1: 'config' is of the command line only");
  EXPECT_NE(refused_text("\x1b[2J = 1").find("\\x1b"), std::string::npos);
  EXPECT_EQ(refused_text("= 1"), "a.conf:1: there is no key before the '='; a line is KEY = VALUE");
  EXPECT_EQ(refused_text("collector = h:1"),
            "a.conf:1: 'collector' is a key of fathom-agent, whose configuration is another file");
}

TEST(ConfigFile, LinesOfOtherFormatsAreShownAsTheyShouldBe) {
  EXPECT_EQ(refused_text("\ndata: /x"), "a.conf:2: 'data: /x' is no line of this file; write data = /x");
  EXPECT_EQ(refused_text("  data:"), "a.conf:1: 'data:' is no line of this file; write data = DIR");
  EXPECT_EQ(refused_text("\"retention-age\": \"2d\","),
            "a.conf:1: '\"retention-age\": \"2d\",' is no line of this file; write retention-age = 2d");
  EXPECT_EQ(refused_text("data /srv/a b"), "a.conf:1: 'data /srv/a b' is no line of this file; write data = /srv/a b");
  EXPECT_EQ(refused_text("export data=/x;"), "a.conf:1: 'export data=/x;' is no line of this file; write data = /x");
  EXPECT_EQ(refused_text("pt: true"), "a.conf:1: 'pt: true' is no line of this file; write pt = yes");
  EXPECT_EQ(refused_text("pt: Off"), "a.conf:1: 'pt: Off' is no line of this file; write pt = no");
  EXPECT_EQ(refused_text("data = \"/srv/a b\""), "a.conf:1: values have no quotes; write data = /srv/a b");
  EXPECT_EQ(refused_text("data = ''"), "a.conf:1: values have no quotes; write data = DIR");
  EXPECT_EQ(refused_text("[server]"), "a.conf:1: there are no sections; leave '[server]' out, its keys stand alone");
  EXPECT_EQ(refused_text("; where it is"), "a.conf:1: a comment begins with '#'; write # where it is");
  EXPECT_EQ(refused_text("where = [\"a=1\", \"b=2\"]"), "a.conf:1: lists are written a line each: where = K=V");
  EXPECT_NE(refused_text("retention-aeg: 7d").find("unknown key 'retention-aeg' (did you mean retention-age?)"),
            std::string::npos);
  EXPECT_EQ(args_of("\xef\xbb\xbf"
                    "data = /x")
                .get("--data"),
            "/x");  // a byte order mark
  EXPECT_EQ(args_of("data = it's").get("--data"), "it's");
  EXPECT_EQ(args_of("data = \"").get("--data"), "\"");
}

TEST(ConfigFile, WrongValuesAreOfTheirLine) {
  Result<ConfigFile> file = parse_config(thing_line(), "a.conf", "\nretention-age = 7\n");
  ASSERT_TRUE(file.ok());
  Result<uint64_t> age = file->args.duration_nano("--retention-age");
  ASSERT_FALSE(age.ok());
  EXPECT_TRUE(file->located(age.error()).message.starts_with("a.conf:2: retention-age: '7' is not a duration"))
      << file->located(age.error()).message;
  EXPECT_EQ(file->located(invalid("--data: no")).message, "--data: no");
}

TEST(ConfigFile, TheCommandLineGoesBefore) {
  Scratch scratch;
  const std::string path = scratch.write("a.conf", "retention-age = 2d\npt = yes\ndurability = os\nwhere = a=1\n");
  Result<Settings> settings =
      parse_settings(thing_line(), {"--config", path, "--retention-age=3d", "--pt=no", "--where=b=2"});
  ASSERT_TRUE(settings.ok()) << settings.error().message;
  EXPECT_EQ(settings->args.get("--retention-age"), "3d");
  EXPECT_FALSE(settings->args.has("--pt"));
  EXPECT_EQ(settings->args.get("--durability"), "os");
  EXPECT_EQ(settings->args.all("--where"), std::vector<std::string>{"b=2"});
  // What was typed is not blamed on the file.
  EXPECT_EQ(settings->located(invalid("--retention-age: no")).message, "--retention-age: no");
  EXPECT_EQ(settings->located(invalid("--durability: no")).message, path + ":3: durability: no");
}

TEST(ConfigFile, IsReadAgain) {
  Scratch scratch;
  const std::string path = scratch.write("a.conf", "retention-age = 7d\npt = yes\n");
  Result<Settings> before = parse_settings(thing_line(), {"--config", path, "--durability=os"});
  ASSERT_TRUE(before.ok());
  scratch.write("a.conf", "data = /x\ndurability = fsync\n");
  Result<Settings> after = read_again(thing_line(), *before);
  ASSERT_TRUE(after.ok());
  EXPECT_EQ(changed_keys(thing_line(), before->args, after->args), (std::vector<std::string>{"data", "pt"}));
  scratch.write("a.conf", "nonsense");
  EXPECT_FALSE(read_again(thing_line(), *before).ok());
}

TEST(ConfigFile, AFileThatIsNotThereIsNamed) {
  Result<Settings> settings = parse_settings(thing_line(), {"--config=/nowhere/a.conf"});
  ASSERT_FALSE(settings.ok());
  EXPECT_EQ(settings.error().message, "--config: cannot read '/nowhere/a.conf': No such file or directory");
}

TEST(ConfigFile, WhatIsPrintedHasEveryKeyAndCanBeRead) {
  std::string text = config_text(thing_line());
  EXPECT_TRUE(parse_config(thing_line(), "printed", text)->lines.empty()) << text;
  EXPECT_EQ(text.find("ready-fd"), std::string::npos);
  std::string switched_on;
  for (const char* key : {"data = DIR", "retention-age = 7d", "durability = fsync", "where = K=V", "pt = no"}) {
    ASSERT_NE(text.find("\n#" + std::string(key) + "\n"), std::string::npos) << key << " is not in\n" << text;
    switched_on += std::string(key) + "\n";
  }
  EXPECT_TRUE(parse_config(thing_line(), "switched on", switched_on).ok());
  for (size_t at = 0; at < text.size(); at = text.find('\n', at) + 1) {
    EXPECT_LE(text.find('\n', at) - at, 100u) << text.substr(at, 120);
  }
}

TEST(ConfigFile, LogLevels) {
  EXPECT_EQ(*log_level(args_of("")), LogLevel::kInfo);
  EXPECT_EQ(*log_level(args_of("log-level = error")), LogLevel::kError);
  EXPECT_FALSE(log_level(args_of("log-level = loud")).ok());
}

}  // namespace
}  // namespace fathom::cli

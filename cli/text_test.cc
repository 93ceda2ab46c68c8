#include "cli/text.h"

#include <gtest/gtest.h>
#include <boost/json.hpp>

#include "cli/sizes.h"
#include "cli/table.h"

namespace fathom::cli {
namespace {

TEST(Printable, ATerminalIsNotAtTheMercyOfNames) {
  EXPECT_EQ(printable("plain \u00e9 \u4e2d \U0001f600"), "plain \u00e9 \u4e2d \U0001f600");
  EXPECT_EQ(printable("\x1b[2Jgone"), "\\x1b[2Jgone");
  EXPECT_EQ(printable("a\nb\tc\rd"), "a\\nb\\tc\\rd");
  EXPECT_EQ(printable(std::string("\0\x7f", 2)), "\\x00\\x7f");
  EXPECT_EQ(printable("\u009b31m"), "\\x9b31m") << "the one-character form of escape and bracket";
  EXPECT_EQ(printable("\u202eevil"), "\\u{202e}evil");
  EXPECT_EQ(printable("a\u200bb"), "a\\u{200b}b");
  EXPECT_EQ(printable("\U000e0041"), "\\u{e0041}");
}

TEST(Printable, BrokenUtf8ShowsItsBytes) {
  EXPECT_EQ(printable("\xff"), "\\xff");
  EXPECT_EQ(printable("a\xc3"), "a\\xc3");
  EXPECT_EQ(printable("\xc3(x"), "\\xc3(x");
  EXPECT_EQ(printable("\xc0\x9b"), "\\xc0\\x9b") << "an over-long spelling is no way round";
  EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80");
  EXPECT_EQ(printable("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");
}

TEST(JsonSafe, SaysTheSameWithoutTheDanger) {
  std::string json = "{\"a\":\"\u009b31m\u202e\U000e0041 \u00e9\u4e2d\",\n\"b\":1}";
  std::string safe = json_safe(json);
  EXPECT_EQ(safe, "{\"a\":\"\\u009b31m\\u202e\\udb40\\udc41 \u00e9\u4e2d\",\n\"b\":1}");
  EXPECT_EQ(boost::json::parse(safe), boost::json::parse(json));
}

TEST(Width, CountsColumns) {
  EXPECT_EQ(display_width("abc"), 3u);
  EXPECT_EQ(display_width("\u4e2d\u6587"), 4u);
  EXPECT_EQ(display_width("e\u0301"), 1u);
  EXPECT_EQ(display_width("\U0001f600"), 2u);
  EXPECT_EQ(display_width("\u2501\u2502\u2026"), 3u);
}

TEST(Width, CutsWithoutBreakingCharacters) {
  EXPECT_EQ(cut_to_width("abcdef", 6), "abcdef");
  EXPECT_EQ(cut_to_width("abcdef", 4), "abc\u2026");
  EXPECT_EQ(cut_to_width("\u4e2d\u6587\u5b57", 4), "\u4e2d\u2026") << "half a wide character does not fit";
  EXPECT_EQ(cut_to_width("abc", 0), "");
  EXPECT_EQ(pad_to_width("\u4e2d", 4, Align::kRight), "  \u4e2d");
  EXPECT_EQ(pad_to_width("abc", 2, Align::kLeft), "abc");
}

TEST(Lines, OneThatIsLeftOverIsShown) {
  EXPECT_EQ(lines_shown(10, 0), 10u);
  EXPECT_EQ(lines_shown(10, 12), 10u);
  EXPECT_EQ(lines_shown(10, 9), 10u);
  EXPECT_EQ(lines_shown(10, 8), 8u);
  EXPECT_EQ(lines_shown(0, 1), 0u);
}

TEST(Numbers, AreGrouped) {
  EXPECT_EQ(group_digits(0), "0");
  EXPECT_EQ(group_digits(999), "999");
  EXPECT_EQ(group_digits(1'000), "1,000");
  EXPECT_EQ(group_digits(12'345'678), "12,345,678");
}

TEST(Numbers, AreFollowedByTheRightFormOfTheirNoun) {
  EXPECT_EQ(plural(0, "span"), "0 spans");
  EXPECT_EQ(plural(1, "span"), "1 span");
  EXPECT_EQ(plural(1'204, "more line"), "1,204 more lines");
  EXPECT_EQ(plural(1, "batch"), "1 batch");
  EXPECT_EQ(plural(2, "batch"), "2 batches");
  EXPECT_EQ(plural(3, "loss"), "3 losses");
}

TEST(Sizes, AreReadAndWritten) {
  EXPECT_EQ(*parse_size_bytes("4096"), 4096u);
  EXPECT_EQ(*parse_size_bytes("64KiB"), 65'536u);
  EXPECT_EQ(*parse_size_bytes("1.5 GiB"), 1'610'612'736u);
  EXPECT_EQ(*parse_size_bytes("10GB"), 10'000'000'000u);
  for (const char* text : {"", "GiB", "10 G", "-1", "1e9", "nan", "inf", "10gib", "9999999999TiB"}) {
    EXPECT_FALSE(parse_size_bytes(text).ok()) << text;
  }
  EXPECT_EQ(format_size(1023), "1023 B");
  EXPECT_EQ(format_size(65'536), "64.0 KiB");
  EXPECT_EQ(format_size(uint64_t{50} << 30), "50.0 GiB");
  EXPECT_EQ(format_size((uint64_t{1} << 20) - 1), "1.0 MiB");
  EXPECT_EQ(format_size(UINT64_MAX), "16.0 EiB");
}

Table example_table() {
  Table table({{"N", Align::kRight}, {"NAME", Align::kLeft, true}, {"END"}});
  table.add({"1", "short", "x"});
  table.add({"1,000", "\u4e2d\u6587 and more text", ""});
  return table;
}

TEST(Tables, AlignByColumns) {
  EXPECT_EQ(example_table().render(0),
            "    N  NAME                END\n"
            "    1  short               x\n"
            "1,000  \u4e2d\u6587 and more text\n");
}

TEST(Tables, NothingIsCutWithoutATerminal) {
  Table table({{"A", Align::kLeft, true}, {"B", Align::kLeft, true}});
  table.add({std::string(300, 'a'), std::string(200, 'b')});
  EXPECT_NE(table.render(0).find(std::string(300, 'a') + "  " + std::string(200, 'b') + "\n"), std::string::npos);
  EXPECT_TRUE(table.render(0).starts_with("A" + std::string(61, ' ') + "B\n")) << "nor are all lines as long";
  EXPECT_NE(table.render(502).find(std::string(200, 'b')), std::string::npos) << "nor where there is room";
  EXPECT_EQ(table.render(501).find(std::string(300, 'a')), std::string::npos);
  EXPECT_NE(table.render(501).find(std::string(200, 'b')), std::string::npos) << "the longest first";
}

TEST(Tables, ShrinkForATerminalOnlyWhatMay) {
  EXPECT_EQ(example_table().render(22),
            "    N  NAME        END\n"
            "    1  short       x\n"
            "1,000  \u4e2d\u6587 and \u2026\n");
  EXPECT_NE(example_table().render(1).find("\u4e2d\u6587 an\u2026"), std::string::npos) << "never below eight columns";
}

TEST(Tables, CellsAreMadeHarmless) {
  Table table({{"A"}});
  table.add({"x\x1b[0m\n"});
  EXPECT_EQ(table.render(0), "A\nx\\x1b[0m\\n\n");
}

TEST(Text, ASlowdownIsRounded) {
  EXPECT_EQ(slowdown_text(0), "");
  EXPECT_EQ(slowdown_text(-1), "");
  EXPECT_EQ(slowdown_text(1.42), "1.4 times slower");
  EXPECT_EQ(slowdown_text(591057.3), "591,000 times slower") << "no more is known of it";
  EXPECT_EQ(slowdown_text(999'600), "1,000,000 times slower");
  EXPECT_EQ(slowdown_text(812.4), "812 times slower");
  EXPECT_EQ(slowdown_text(1e300), "1,000,000,000,000,000,000 times slower");
}

}  // namespace
}  // namespace fathom::cli

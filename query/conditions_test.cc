#include "query/conditions.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "net/json_writer.h"

namespace fathom::query {
namespace {

using store::ValueView;
using Pairs = std::vector<std::pair<std::string, std::string>>;

// Whether `where key=text` finds an attribute with this value.
bool finds(const std::string& text, const ValueView& value) {
  auto condition = parse_condition("key=" + text);
  EXPECT_TRUE(condition.ok()) << text;
  return condition->any_of(
      [&](const std::string& key, const std::string& spelled) { return key == "key" && spelled == value_text(value); });
}

TEST(Conditions, ANumberIsFoundHoweverItIsWritten) {
  for (const char* text : {"3", "3.0", "3e0", "0.3e1", "3.", "30e-1"}) {
    EXPECT_TRUE(finds(text, ValueView::of_double(3))) << text;
    EXPECT_TRUE(finds(text, ValueView::of_int(3))) << text;
    EXPECT_FALSE(finds(text, ValueView::of_double(3.5))) << text;
    EXPECT_FALSE(finds(text, ValueView::of_int(30))) << text;
  }
  for (const char* text : {"1e5", "100000", "100000.0", "1e+05", "1E5", "1e+5"}) {
    EXPECT_TRUE(finds(text, ValueView::of_double(1e5))) << text;
    EXPECT_TRUE(finds(text, ValueView::of_int(100'000))) << text;
  }
  for (const char* text : {"1e21", "1e+21", "1000000000000000000000", "1000000000000000000000.0"}) {
    EXPECT_TRUE(finds(text, ValueView::of_double(1e21))) << text;
  }
  EXPECT_TRUE(finds("-0.0", ValueView::of_double(-0.0)));
  EXPECT_TRUE(finds("0.50", ValueView::of_double(0.5)));
  EXPECT_TRUE(finds("1.8446744073709552e19", ValueView::of_double(18446744073709551616.0)));
}

TEST(Conditions, NoNumberAndInfinityAreFoundInAnyCase) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  for (const char* text : {"NaN", "nan", "NAN"}) {
    EXPECT_TRUE(finds(text, ValueView::of_double(kNan))) << text;
    EXPECT_TRUE(finds(text, ValueView::of_double(std::copysign(kNan, -1)))) << text;
    EXPECT_FALSE(finds(text, ValueView::of_double(kInfinity))) << text;
  }
  for (const char* text : {"Infinity", "infinity", "INFINITY", "inf"}) {
    EXPECT_TRUE(finds(text, ValueView::of_double(kInfinity))) << text;
    EXPECT_FALSE(finds(text, ValueView::of_double(-kInfinity))) << text;
    EXPECT_TRUE(finds(std::string("-") + text, ValueView::of_double(-kInfinity))) << text;
  }
  EXPECT_TRUE(finds("NaN", ValueView::of_string("NaN")));
}

TEST(Conditions, WhatAnAnswerPrintsIsFound) {
  std::vector<double> values{
      0.1,    -2.5e300, 1e15,    1e16,       1e17,    123456789012345680.0, 1e-7, 5e-324, 0x1p53, 0x1p63, -0x1p63,
      0x1p64, 1e100,    1.0 / 3, 1.7976e308, 0x1p-30, 4503599627370497.5};
  for (double value : values) {
    std::string json;
    net::JsonWriter(json).real(value);
    EXPECT_TRUE(finds(json, ValueView::of_double(value))) << json;
    EXPECT_TRUE(finds(value_text(ValueView::of_double(value)), ValueView::of_double(value))) << json;
  }
}

TEST(Conditions, LargeIntegersStayThemselves) {
  EXPECT_TRUE(finds("9007199254740993", ValueView::of_int(9007199254740993)));
  EXPECT_FALSE(finds("9007199254740993", ValueView::of_int(9007199254740992)));
  EXPECT_FALSE(finds("9007199254740993", ValueView::of_double(9007199254740992)));
  EXPECT_TRUE(finds("9007199254740992", ValueView::of_double(9007199254740992)));
  EXPECT_FALSE(finds("9223372036854775807", ValueView::of_double(0x1p63)));
  EXPECT_TRUE(finds("9223372036854775807", ValueView::of_int(INT64_MAX)));
  EXPECT_TRUE(finds("-9223372036854775808", ValueView::of_double(-0x1p63)));
  EXPECT_TRUE(finds("9223372036854775808", ValueView::of_double(0x1p63)));
  EXPECT_FALSE(finds("9223372036854775806", ValueView::of_int(INT64_MAX)));
}

TEST(Conditions, WhatIsNoNumberHasOneText) {
  for (const char* text : {"", "-", ".", "e5", "007", "-01", "0x10", "3 ", " 3", "3s", "1e5x", "nan(1)", "1e999",
                           "true", "infinite", "1,5", "--3", "+"}) {
    EXPECT_TRUE(other_number_texts(text).empty()) << text;
  }
  EXPECT_TRUE(other_number_texts("3").empty()) << "its only text";
}

// How a condition was understood, or "" for one that was not.
std::string read(const std::string& text) {
  auto condition = parse_condition(text);
  if (!condition) {
    EXPECT_NE(condition.error().message.find("KEY>=N"), std::string::npos) << "the message shows the grammar";
    return "";
  }
  return condition->key + "|" + std::string(store::compare_text(condition->compare)) + "|" + condition->value;
}

TEST(Conditions, EachOperator) {
  EXPECT_EQ(read("k=v"), "k|=|v");
  EXPECT_EQ(read("k!=v"), "k|!=|v");
  EXPECT_EQ(read("k>5"), "k|>|5");
  EXPECT_EQ(read("k>=-5.5"), "k|>=|-5.5");
  EXPECT_EQ(read("k<1e3"), "k|<|1e3");
  EXPECT_EQ(read("k<=5"), "k|<=|5");
  EXPECT_EQ(read("k"), "k||");
  EXPECT_EQ(read("!k"), "k|!|");
  EXPECT_EQ(read("k="), "k|=|") << "an empty text is a value";
}

TEST(Conditions, BlanksAroundThePartsAreNothing) {
  for (const char* text : {"k=a b", " k = a b ", "k =a b", "\tk=  a b\n", "\"k\" = \"a b\"", "k=\"a b\" "}) {
    EXPECT_EQ(read(text), "k|=|a b") << text;
  }
  EXPECT_EQ(read(" payment.amount >= 500 "), "payment.amount|>=|500");
  EXPECT_EQ(read(" ! k "), "k|!|");
}

TEST(Conditions, QuotesMayHoldAnything) {
  EXPECT_EQ(read(R"("a=b" = "x > y")"), "a=b|=|x > y");
  EXPECT_EQ(read(R"("!k")"), "!k||");
  EXPECT_EQ(read(R"(!"a b")"), "a b|!|");
  EXPECT_EQ(read(R"(k="say \"a\\b\"")"), R"(k|=|say "a\b")");
  EXPECT_EQ(read(R"(k=" v ")"), "k|=| v ");
  EXPECT_EQ(read(R"(k="")"), "k|=|");
  EXPECT_EQ(read(R"(k!="= && ||")"), "k|!=|= && ||");
}

TEST(Conditions, TheFirstOperatorEndsTheKey) {
  EXPECT_EQ(read("k=eq=v"), "k|=|eq=v");
  EXPECT_EQ(read("k=a>b"), "k|=|a>b");
  EXPECT_EQ(read("k!=a<b"), "k|!=|a<b");
  EXPECT_EQ(read(R"(k=["a","b"])"), R"(k|=|["a","b"])");
  EXPECT_TRUE(parse_condition("k=v")->alternatives.empty());
  EXPECT_EQ(parse_condition("k!=1e2")->alternatives, (Pairs{{"k", "100"}}));
}

TEST(Conditions, WhatIsNotUnderstoodIsRefused) {
  for (const char* bad :
       {"",         " ",          "!",       "=",        "=v",         ">5",       "!=v",  "!k=v",   "k>",
        "k>abc",    "k>5ms",      "k<=nan",  "k>=1e999", "k==v",       "k=~v",     "k<>5", "k=>5",   "k=<5",
        "k!~v",     "k~v",        "a b",     "is it=v",  "k!",         "k!v",      "\"k",  "\"k\"x", "k=\"a",
        "k=\"a\"b", "k=\"a\\n\"", "k=\"a\\", "\"\"=v",   "a=1 && b=2", "a=1||b=2", "!k=",  "k<\"\""}) {
    EXPECT_EQ(read(bad), "") << bad;
  }
}

TEST(Conditions, ABoundIsTheNumberThatIsWritten) {
  EXPECT_EQ(parse_condition("k>9007199254740993")->bound, ValueView::of_int(9007199254740993));
  EXPECT_EQ(parse_condition("k>=-9223372036854775808")->bound, ValueView::of_int(INT64_MIN));
  EXPECT_EQ(parse_condition("k<9223372036854775808")->bound, ValueView::of_double(0x1p63));
  EXPECT_EQ(parse_condition("k<=0.1")->bound, ValueView::of_double(0.1));
  EXPECT_EQ(parse_condition("k<-Infinity")->bound, ValueView::of_double(-std::numeric_limits<double>::infinity()));
}

TEST(Conditions, ApartTheyAreTakenAsTheyAre) {
  auto condition = condition_of("k=a", " \"b=c");
  ASSERT_TRUE(condition.ok());
  EXPECT_EQ(condition->key, "k=a");
  EXPECT_EQ(condition->value, " \"b=c");
  EXPECT_TRUE(condition->alternatives.empty());
  EXPECT_EQ(condition_of("k", "1e2")->alternatives, (Pairs{{"k", "100"}}));
  EXPECT_FALSE(condition_of("", "v").ok());
  EXPECT_FALSE(condition_of("k", "v", store::Compare::kExists).ok());
  EXPECT_FALSE(condition_of("k", "", store::Compare::kAtMost).ok());
  EXPECT_TRUE(condition_of("k", "", store::Compare::kLacks).ok());
}

}  // namespace
}  // namespace fathom::query

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

TEST(Conditions, EverySplitThatLeavesAKey) {
  auto condition = parse_condition("k=eq=v");
  ASSERT_TRUE(condition.ok());
  EXPECT_EQ(condition->key, "k");
  EXPECT_EQ(condition->value, "eq=v");
  EXPECT_EQ(condition->alternatives, (Pairs{{"k=eq", "v"}}));
  EXPECT_EQ(parse_condition("k==")->alternatives, (Pairs{{"k=", ""}}));
  EXPECT_EQ(parse_condition("k=a=1e2")->alternatives, (Pairs{{"k=a", "1e2"}, {"k=a", "100"}}));
  EXPECT_EQ(parse_condition("=k=v")->key, "=k");
  EXPECT_TRUE(parse_condition("k=v")->alternatives.empty());
  EXPECT_EQ(parse_condition("k=" + std::string(1000, '='))->alternatives.size(), kKeyEnds - 1);
  for (const char* bad : {"", "k", "=", "=v"}) EXPECT_FALSE(parse_condition(bad).ok()) << bad;
}

TEST(Conditions, ApartTheyAreTakenAsTheyAre) {
  auto condition = condition_of("k=a", "b=c");
  ASSERT_TRUE(condition.ok());
  EXPECT_EQ(condition->key, "k=a");
  EXPECT_TRUE(condition->alternatives.empty());
  EXPECT_EQ(condition_of("k", "1e2")->alternatives, (Pairs{{"k", "100"}}));
  EXPECT_FALSE(condition_of("", "v").ok());
}

}  // namespace
}  // namespace fathom::query

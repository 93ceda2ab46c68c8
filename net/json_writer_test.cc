#include "net/json_writer.h"

#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <cmath>
#include <limits>
#include <random>

namespace fathom::net {
namespace {

std::string json_of(std::string_view text) {
  std::string out;
  append_json_string(out, text);
  return out;
}

std::string json_of(double value) {
  std::string out;
  append_json_double(out, value);
  return out;
}

TEST(JsonWriter, PutsCommasWhereTheyBelong) {
  std::string out;
  JsonWriter json(out);
  json.begin_object()
      .member("a", 1)
      .key("b")
      .begin_array()
      .number(1)
      .begin_object()
      .end_object()
      .string("x")
      .end_array();
  json.member("c", true).key("d").null().key("e").begin_array().end_array().member("f", "text").end_object();
  EXPECT_EQ(out, R"({"a":1,"b":[1,{},"x"],"c":true,"d":null,"e":[],"f":"text"})");
}

TEST(JsonWriter, KeepsIntegersExact) {
  std::string out;
  JsonWriter json(out);
  json.begin_array().number(INT64_MIN).number(UINT64_MAX).number(9007199254740993).end_array();
  EXPECT_EQ(out, "[-9223372036854775808,18446744073709551615,9007199254740993]");
}

TEST(JsonWriter, Doubles) {
  EXPECT_EQ(json_of(1.0), "1.0");
  EXPECT_EQ(json_of(-0.1), "-0.1");
  EXPECT_EQ(json_of(1e300), "1e+300");
  EXPECT_EQ(json_of(std::nan("")), "\"NaN\"");
  EXPECT_EQ(json_of(std::numeric_limits<double>::infinity()), "\"Infinity\"");
  EXPECT_EQ(json_of(-std::numeric_limits<double>::infinity()), "\"-Infinity\"");
}

TEST(JsonWriter, EscapesAndRepairsStrings) {
  EXPECT_EQ(json_of("a\"b\\c\n\r\t\x01\x7f"), "\"a\\\"b\\\\c\\n\\r\\t\\u0001\\u007f\"");
  EXPECT_EQ(json_of(std::string_view("\0", 1)), "\"\\u0000\"");
  EXPECT_EQ(json_of("\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"), "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\"");
  for (std::string_view bad : {"\xff", "\xc0", "\xc1", "\xf5", "\x80"}) EXPECT_EQ(json_of(bad), "\"\xef\xbf\xbd\"");
  EXPECT_EQ(json_of("\xc3x"), "\"\xef\xbf\xbdx\"");
  EXPECT_EQ(json_of("\xed\xa0\x80"), "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"");  // a surrogate
}

TEST(JsonWriter, AnyBytesMakeAValidDocument) {
  std::mt19937 random(11);
  for (int round = 0; round < 2000; ++round) {
    std::string text(random() % 40, '\0');
    for (char& c : text) c = static_cast<char>(random() % 3 ? random() : 0x80 | (random() & 0x7f));
    boost::system::error_code fault;
    boost::json::parse(json_of(text), fault);
    ASSERT_FALSE(fault) << json_of(text);
  }
}

}  // namespace
}  // namespace fathom::net

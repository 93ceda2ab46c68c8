#include "collector/otlp/json_cursor.h"

#include <gtest/gtest.h>

#include <limits>

#include "collector/otlp/json_scalar.h"

namespace fathom::collector {
namespace {

bool is_json(std::string_view text) {
  JsonCursor json(text);
  json.skip_value();
  return json.expect_end();
}

std::string string_of(std::string_view text) {
  JsonCursor json(text);
  std::string scratch;
  std::string result(json.string(scratch));
  return json.failed() ? "failed: " + json.error() : result;
}

TEST(JsonCursor, AcceptsWhatJsonAllows) {
  for (const char* text :
       {"0", "-0", "12.5e-3", "1E5", "true", "false", "null", "\"\"", "[]", "{}", " [ 1 , [ ] , {\"a\":[{}]} ] ",
        "{\"a\":1,\"a\":2}", "\"\\u00e9\\n\"", "[[[[]]],[]]", "{\"a\":{\"b\":{}},\"c\":[]}"}) {
    EXPECT_TRUE(is_json(text)) << text;
  }
}

TEST(JsonCursor, RefusesWhatItDoesNot) {
  for (const char* text :
       {"",   "01",      "+1",          ".5",       "1.",   "1e",    "-",       "tru",       "nul",   "True",
        "\"", "\"\\x\"", "\"\\u12g4\"", "\"a\nb\"", "[1,]", "[1 2]", "{\"a\"}", "{\"a\":}",  "{a:1}", "{\"a\":1,}",
        "[",  "{",       "]",           "[}",       "{]",   "1 2",   "[1]]",    "{\"a\":1]", "'a'",   "NaN"}) {
    EXPECT_FALSE(is_json(text)) << text;
  }
}

TEST(JsonCursor, LimitsHowDeepValuesNest) {
  EXPECT_TRUE(is_json(std::string(512, '[') + std::string(512, ']')));
  EXPECT_FALSE(is_json(std::string(513, '[') + std::string(513, ']')));
  EXPECT_FALSE(is_json(std::string(1'000'000, '[')));
}

TEST(JsonCursor, ReadsStringsAndTheirEscapes) {
  EXPECT_EQ(string_of("\"plain\""), "plain");
  EXPECT_EQ(string_of(R"("a\"\\\/\b\f\n\r\tz")"), "a\"\\/\b\f\n\r\tz");
  EXPECT_EQ(string_of(R"("\u0041\u00e9\u20AC\ud83d\ude00")"), "A\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80");
}

TEST(JsonCursor, ReplacesHalvesOfSurrogatePairs) {
  EXPECT_EQ(string_of(R"("\ud83d")"), "\xef\xbf\xbd");
  EXPECT_EQ(string_of(R"("\ude00x")"), "\xef\xbf\xbdx");
  EXPECT_EQ(string_of(R"("\ud83d\u0041")"),
            "\xef\xbf\xbd"
            "A");
  EXPECT_EQ(string_of(R"("\ud83d\ud83d\ude00")"), "\xef\xbf\xbd\xf0\x9f\x98\x80");
}

TEST(JsonCursor, SaysWhereItFailed) {
  JsonCursor json("{\"a\": tru}");
  json.skip_value();
  EXPECT_EQ(json.error(), "JSON, byte 6: expected a value");
}

template <typename T>
void expect_number(T (*read)(JsonCursor&), std::string_view text, T expected) {
  JsonCursor json(text);
  EXPECT_EQ(read(json), expected) << text;
  EXPECT_FALSE(json.failed()) << text << ": " << json.error();
}

TEST(JsonScalar, IntegersAreExact) {
  expect_number<uint64_t>(json_uint64, "18446744073709551615", UINT64_MAX);
  expect_number<uint64_t>(json_uint64, "\"18446744073709551615\"", UINT64_MAX);
  expect_number<uint64_t>(json_uint64, "9007199254740993", 9007199254740993);
  expect_number<uint64_t>(json_uint64, "1e3", 1000);
  expect_number<uint64_t>(json_uint64, "\"1.5e1\"", 15);
  expect_number<uint64_t>(json_uint64, "null", 0);
  expect_number<int64_t>(json_int64, "-9223372036854775808", INT64_MIN);
  expect_number<int64_t>(json_int64, "\"-1\"", -1);
  expect_number<uint32_t>(json_uint32, "4294967295", UINT32_MAX);
}

TEST(JsonScalar, IntegersThatDoNotFitFail) {
  for (const char* text : {"-1", "18446744073709551616", "1.5", "\"\"", "\"x\"", "\"1 \"", "1e20", "true", "[]"}) {
    JsonCursor json(text);
    json_uint64(json);
    EXPECT_TRUE(json.failed()) << text;
  }
  JsonCursor json("9223372036854775808");
  json_int64(json);
  EXPECT_TRUE(json.failed());
}

TEST(JsonScalar, Doubles) {
  expect_number<double>(json_double, "0.1", 0.1);
  expect_number<double>(json_double, "\"2.5\"", 2.5);
  expect_number<double>(json_double, "\"-Infinity\"", -std::numeric_limits<double>::infinity());
  JsonCursor nan("\"NaN\"");
  EXPECT_TRUE(json_double(nan) != json_double(nan));
}

TEST(JsonScalar, EnumerationsByNumberAndName) {
  constexpr JsonEnumName kNames[] = {{"ZERO", 0}, {"TWO", 2}};
  for (auto [text, expected] : std::initializer_list<std::pair<const char*, int>>{
           {"2", 2}, {"\"TWO\"", 2}, {"0", 0}, {"77", 0}, {"\"OTHER\"", 0}, {"null", 0}}) {
    JsonCursor json(text);
    EXPECT_EQ(json_enum(json, kNames), expected) << text;
    EXPECT_FALSE(json.failed()) << text;
  }
}

TEST(JsonScalar, Base64InEveryDialect) {
  EXPECT_EQ(from_base64("AP8="), std::string("\x00\xff", 2));
  EXPECT_EQ(from_base64("AP8"), std::string("\x00\xff", 2));
  EXPECT_EQ(from_base64("-_8="), from_base64("+/8="));
  EXPECT_EQ(from_base64(""), "");
  EXPECT_EQ(from_base64("A"), std::nullopt);
  EXPECT_EQ(from_base64("AP*="), std::nullopt);
}

}  // namespace
}  // namespace fathom::collector

#include "query/value_json.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <limits>

namespace fathom::query {
namespace {

using store::AttributeView;
using store::ValueType;
using store::ValueView;

std::string json_of(std::vector<AttributeView> attributes) {
  std::string out;
  net::JsonWriter json(out);
  write_attributes(json, attributes);
  return out;
}

TEST(ValueJson, ValuesKeepTheirTypes) {
  EXPECT_EQ(json_of({{"s", ValueView::of_string("x\n")},
                     {"i", ValueView::of_int(9007199254740993)},
                     {"n", ValueView::of_int(INT64_MIN)},
                     {"b", ValueView::of_bool(true)},
                     {"d", ValueView::of_double(2)},
                     {"nan", ValueView::of_double(std::numeric_limits<double>::quiet_NaN())},
                     {"bytes", {ValueType::kBytes, "\x01\xff", 0}},
                     {"j", {ValueType::kJson, R"([1,{"a":null}])", 0}},
                     {"c", {ValueType::kCut, "cut", 0}},
                     {"", {}}}),
            R"({"s":"x\n","i":9007199254740993,"n":-9223372036854775808,"b":true,"d":2.0,"nan":"NaN","bytes":"Af8=",)"
            R"("j":[1,{"a":null}],"c":"cut","":null})");
}

TEST(ValueJson, TheLastOfEqualKeysWins) {
  EXPECT_EQ(json_of({{"a", ValueView::of_int(1)}, {"b", ValueView::of_int(2)}, {"a", ValueView::of_int(3)}}),
            R"({"b":2,"a":3})");
  std::vector<std::string> keys;
  for (int i = 0; i < 200; ++i) keys.push_back("k" + std::to_string(i % 100));
  std::vector<AttributeView> many;
  for (int i = 0; i < 200; ++i) many.push_back({keys[static_cast<size_t>(i)], ValueView::of_int(i)});
  auto read = boost::json::parse(json_of(many)).as_object();
  ASSERT_EQ(read.size(), 100u);
  EXPECT_EQ(read["k7"].as_int64(), 107);
}

TEST(ValueJson, WhatIsNotJsonBecomesAString) {
  for (std::string_view bad : {"", "{", "[1,]", "1 2", "{\"a\":NaN}", "\"\xff\"", "nul"}) {
    std::string text = json_of({{"a", {ValueType::kJson, bad, 0}}});
    boost::system::error_code fault;
    auto read = boost::json::parse(text, fault);
    ASSERT_FALSE(fault) << text;
    EXPECT_TRUE(read.at("a").is_string()) << text;
  }
  std::string deep = std::string(1000, '[') + std::string(1000, ']');
  EXPECT_TRUE(boost::json::parse(json_of({{"a", {ValueType::kJson, deep, 0}}})).at("a").is_string());
}

TEST(ValueJson, CutKeysAreNamed) {
  std::vector<AttributeView> attributes{{"a", {ValueType::kCut, "x", 0}}, {"b", ValueView::of_int(1)}};
  std::string out;
  net::JsonWriter json(out);
  json.begin_object();
  write_cut_keys(json, attributes);
  write_cut_keys(json, std::span(attributes).subspan(1));
  json.end_object();
  EXPECT_EQ(out, R"({"cut_attributes":["a"]})");
}

}  // namespace
}  // namespace fathom::query

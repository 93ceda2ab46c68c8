#include "client/resource.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>

namespace fathom::client {
namespace {

using Attributes = std::map<std::string, std::string>;

Attributes attributes(const ResourceText& text) {
  Attributes all;
  std::string_view key, value;
  for (size_t at = 0; text.next(at, key, value);) all.emplace(key, value);
  return all;
}
Attributes parsed(std::string_view list) {
  auto text = std::make_unique<ResourceText>();
  text->put_list(list);
  return attributes(*text);
}

TEST(Resource, ListsAreReadAsTheSpecificationSays) {
  EXPECT_EQ(parsed("a=1,b=two"), (Attributes{{"a", "1"}, {"b", "two"}}));
  EXPECT_EQ(parsed(" a = 1 , ,b= ,=c,d,e=f=g"), (Attributes{{"a", "1"}, {"b", ""}, {"e", "f=g"}}));
  EXPECT_EQ(parsed("a=x%2Cy%3dz%20,b=100%,c=%zz%4"), (Attributes{{"a", "x,y=z "}, {"b", "100%"}, {"c", "%zz%4"}}));
  EXPECT_EQ(parsed(""), Attributes{});
}

TEST(Resource, TheLatestValueOfAKeyStays) {
  auto text = std::make_unique<ResourceText>();
  text->put_list("a=1,b=2,c=3");
  text->put_list("b=4,a=5");
  EXPECT_EQ(attributes(*text), (Attributes{{"a", "5"}, {"b", "4"}, {"c", "3"}}));
}

TEST(Resource, WhatDoesNotFitIsDroppedAndCounted) {
  auto text = std::make_unique<ResourceText>();
  for (int i = 0; i < 30; i++) text->put("key" + std::to_string(i), std::string(1000, 'v'));
  EXPECT_GT(text->dropped(), 10U);
  EXPECT_LT(text->bytes().size(), pool::kResourceBytes);
  EXPECT_EQ(attributes(*text).size() + text->dropped(), 30U);
  text->put("small", "value");
  EXPECT_EQ(attributes(*text)["small"], "value");
}

TEST(Resource, TheDefaultsNameTheProgram) {
  uint32_t edition;
  Attributes all = attributes(current_resource(edition));
  EXPECT_EQ(all["process.executable.name"], "client_tests");
  EXPECT_EQ(all["telemetry.sdk.name"], "fathom");
  EXPECT_EQ(all["telemetry.sdk.language"], "cpp");
  EXPECT_FALSE(all["telemetry.sdk.version"].empty());
  EXPECT_FALSE(all["host.name"].empty());
  EXPECT_FALSE(all["service.name"].empty());
}

}  // namespace
}  // namespace fathom::client

#include "base/name_pattern.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace fathom {
namespace {

TEST(NamePattern, StarsAreAnythingAndQuestionMarksOneByte) {
  for (const char* pattern : {"cache.miss", "*", "cache.*", "*miss", "c*e.m*s", "cache?miss", "cache.miss*", "**s",
                              "?ache.mis?", "*?", "cache.mi??"}) {
    EXPECT_TRUE(fits_pattern(pattern, "cache.miss")) << pattern;
  }
  for (const char* pattern : {"", "cache", "cache.hit", "*x", "cache.miss?", "?", "?cache.miss", "cache.mi???"}) {
    EXPECT_FALSE(fits_pattern(pattern, "cache.miss")) << pattern;
  }
}

TEST(NamePattern, StarsTakeMoreWhenWhatFollowsDoesNotFit) {
  EXPECT_TRUE(fits_pattern("*.m*s", "cache.miss"));
  EXPECT_FALSE(fits_pattern("*.m*s", "cache.missing"));
  EXPECT_TRUE(fits_pattern("a*a*a", "aaa"));
  EXPECT_FALSE(fits_pattern("a*a*a", "aa"));
  EXPECT_TRUE(fits_pattern("*", ""));
  EXPECT_FALSE(fits_pattern("?", ""));
  EXPECT_TRUE(fits_pattern("", ""));
}

// The rule itself, without cleverness.
bool fits_plainly(std::string_view pattern, std::string_view name) {
  if (pattern.empty()) return name.empty();
  if (pattern[0] == '*') {
    return fits_plainly(pattern.substr(1), name) || (!name.empty() && fits_plainly(pattern, name.substr(1)));
  }
  if (name.empty() || (pattern[0] != '?' && pattern[0] != name[0])) return false;
  return fits_plainly(pattern.substr(1), name.substr(1));
}

std::vector<std::string> texts_of(std::string_view letters, size_t most_letters) {
  std::vector<std::string> texts{""};
  for (size_t from = 0, size = 1; size <= most_letters; ++size) {
    size_t end = texts.size();
    for (; from < end; ++from) {
      for (char letter : letters) texts.push_back(texts[from] + letter);
    }
  }
  return texts;
}

TEST(NamePattern, AllShortPatternsFitWhatTheRuleSays) {
  std::vector<std::string> names = texts_of("ab", 5);
  for (const std::string& pattern : texts_of("ab*?", 5)) {
    for (const std::string& name : names) {
      ASSERT_EQ(fits_pattern(pattern, name), fits_plainly(pattern, name)) << pattern << " " << name;
    }
  }
}

TEST(NamePattern, WhatCoversFitsAllThatTheOtherFits) {
  for (auto [pattern, other] : std::vector<std::pair<const char*, const char*>>{
           {"*", "cache.*"}, {"cache.*", "cache.?it"}, {"a", "a"}, {"a*", "a*b*"}, {"??", "a?"}, {"*.*", "a.b"}}) {
    EXPECT_TRUE(covers_pattern(pattern, other)) << pattern << " " << other;
  }
  for (auto [pattern, other] : std::vector<std::pair<const char*, const char*>>{
           {"cache.*", "*"}, {"?", "*"}, {"a", "?"}, {"cache.*", "cache*"}, {"a*b", "a*"}}) {
    EXPECT_FALSE(covers_pattern(pattern, other)) << pattern << " " << other;
  }
  std::vector<std::string> names = texts_of("ab", 5), patterns = texts_of("a*?", 4);
  for (const std::string& pattern : patterns) {
    for (const std::string& other : patterns) {
      if (!covers_pattern(pattern, other)) continue;
      for (const std::string& name : names) {
        ASSERT_TRUE(!fits_pattern(other, name) || fits_pattern(pattern, name))
            << pattern << " " << other << " " << name;
      }
    }
  }
}

TEST(NamePattern, WhatMayBeOneOfAList) {
  for (const char* text : {"a", "*", "cache.?", "a-b", "\xc3\xa9"}) EXPECT_TRUE(is_name_pattern(text)) << text;
  for (const char* text : {"", "-a", "a,b", "a b", "a\n", "\x7f"}) EXPECT_FALSE(is_name_pattern(text)) << text;
  EXPECT_TRUE(is_name_pattern(std::string(255, 'a')));
  EXPECT_FALSE(is_name_pattern(std::string(256, 'a')));
}

}  // namespace
}  // namespace fathom

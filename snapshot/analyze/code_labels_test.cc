#include "snapshot/analyze/code_labels.h"

#include <gtest/gtest.h>

namespace fathom::snapshot {
namespace {

TEST(FunctionLabel, WhatFitsStays) {
  EXPECT_EQ(short_function_name("shop::find(std::vector<int> const&)"), "shop::find(std::vector<int> const&)");
  EXPECT_EQ(short_function_name("f(int)", 6), "f(int)");
}

TEST(FunctionLabel, TemplatesFoldFirst) {
  EXPECT_EQ(short_function_name("shop::find<int, std::map<a, b> >::at(int)", 30), "shop::find<...>::at(int)");
  EXPECT_EQ(short_function_name("a<b>::f(long, c<d>) const", 12), "a<...>::f(.…");
  EXPECT_EQ(short_function_name("a<b>::f(long, c<d>) const", 20), "a<...>::f(...) const");
  EXPECT_EQ(short_function_name("f<>()", 4), "f<>…");
}

TEST(FunctionLabel, OperatorsAreNoBrackets) {
  EXPECT_EQ(short_function_name("std::operator<< <char>(std::ostream&)", 34), "std::operator<< <...>(...)");
  EXPECT_EQ(short_function_name("x::operator<(y<z> const&, y<z> const&)", 28), "x::operator<(...)");
  EXPECT_EQ(short_function_name("x::operator()(int, int, int) const", 30), "x::operator()(...) const");
  EXPECT_EQ(short_function_name("(anonymous namespace)::f(int, int)", 31), "(anonymous namespace)::f(...)");
  EXPECT_EQ(short_function_name("auto f<a>(int) -> decltype(b)", 20), "auto f<...>(...) ->…");
}

TEST(FunctionLabel, UnbalancedNamesEnd) {
  EXPECT_EQ(short_function_name("a<b<c", 4), "a<.…");
  EXPECT_EQ(short_function_name("a>b)c", 4), "a>b…");
}

}  // namespace
}  // namespace fathom::snapshot

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

TEST(InnermostOwnInlined, IsNoLibrarysHeader) {
  const SourceFrame own{"Log::flush()", {"/build/log.cc", 31}}, around{"handle(int)", {"/build/shop.cc", 120}};
  const SourceFrame header{"std::mutex::lock()", {"/usr/include/c++/12/bits/std_mutex.h", 100}};
  const SourceFrame other{"std::lock_guard", {"/usr/bin/../lib/gcc/x86_64-linux-gnu/12/std_mutex.h", 229}};
  const SourceFrame unknown{"f()", {"/build/f.cc", 0}};
  const auto name_of = [](const std::vector<SourceFrame>& frames) {
    const SourceFrame* found = innermost_own_inlined(frames);
    return found == nullptr ? std::string("none") : found->function;
  };
  EXPECT_EQ(name_of({own, around}), "Log::flush()");
  EXPECT_EQ(name_of({header, other, unknown, own, around}), "Log::flush()");
  EXPECT_EQ(name_of({header, other, around}), "none") << "the line around it is the one that a person wrote";
  EXPECT_EQ(name_of({around}), "none");
  EXPECT_EQ(name_of({}), "none");
  EXPECT_EQ(name_of({{"f()", {"/usr/src/shop/f.cc", 1}}, around}), "f()");
}

}  // namespace
}  // namespace fathom::snapshot

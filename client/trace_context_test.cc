#include "client/trace_context.h"

#include <gtest/gtest.h>

#include <string>

namespace fathom::client {
namespace {

const std::string kParent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

bool accepts(const std::string& text) {
  fathom_context context = {};
  return parse_parent(text, context);
}
std::string parent_of(const std::string& text) {
  fathom_context context = {};
  if (!parse_parent(text, context)) return "invalid";
  char out[56];
  format_parent(context, out);
  return out;
}
std::string tracestate_of(const std::string& text) {
  char out[kMostStateBytes];
  return {out, parse_state(text, out)};
}
std::string state_with(const std::string& state, const std::string& node, size_t room = kMostStateBytes) {
  char out[kMostStateBytes];
  return {out, format_state(state, node, out, room)};
}
std::string member(char key, size_t bytes) {
  return std::string(1, key) + "=" + std::string(bytes - 2, 'x');
}

TEST(TraceParent, GoesThrough) {
  EXPECT_EQ(parent_of(kParent), kParent);
  EXPECT_EQ(parent_of("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-03"),
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-03");
}

TEST(TraceParent, UnknownFlagsAreNotPassedOn) {
  EXPECT_EQ(parent_of("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-ff"),
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-03");
}

TEST(TraceParent, LaterVersionsMayHaveMoreBehindADash) {
  const std::string rest = kParent.substr(2);
  EXPECT_EQ(parent_of("cc" + rest), kParent);
  EXPECT_EQ(parent_of("cc" + rest + "-what-the-future-brings"), kParent);
  EXPECT_FALSE(accepts("cc" + rest + ".what"));
  EXPECT_FALSE(accepts(kParent + "-x")) << "version 00 has nothing more";
  EXPECT_FALSE(accepts("ff" + rest)) << "forbidden";
}

TEST(TraceParent, WhatIsNotOneIsRefused) {
  EXPECT_FALSE(accepts(""));
  EXPECT_FALSE(accepts(kParent.substr(0, 54)));
  EXPECT_FALSE(accepts(" " + kParent));
  EXPECT_FALSE(accepts(kParent + " "));
  EXPECT_FALSE(accepts("00-00000000000000000000000000000000-b7ad6b7169203331-01"));
  EXPECT_FALSE(accepts("00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01"));
  for (size_t at = 0; at < kParent.size(); at++) {
    for (char wrong : {'G', 'A', ' ', '\0', '\xff', '_'}) {
      std::string text = kParent;
      text[at] = wrong;
      EXPECT_FALSE(accepts(text)) << text;
    }
  }
}

TEST(TraceState, MembersGoThroughWithoutTheSpaceAroundThem) {
  EXPECT_EQ(tracestate_of("a=1,b=2"), "a=1,b=2");
  EXPECT_EQ(tracestate_of(" a=1 ,\tb=2, ,,c@d=x y!"), "a=1,b=2,c@d=x y!");
  EXPECT_EQ(tracestate_of("0k_-*/@=v"), "0k_-*/@=v");
  EXPECT_EQ(tracestate_of(""), "");
}

TEST(TraceState, OneThatIsNotValidIsNone) {
  for (const char* text :
       {"a", "=1", "A=1", "a b=1", "a=", "a=1,b", "a=1=2", "a=\x7f", "a=\t", "_a=1", "a=1,B=2", "a=\xc3\xa4"}) {
    EXPECT_EQ(tracestate_of(text), "") << text;
  }
  EXPECT_EQ(tracestate_of(std::string(257, 'a') + "=1"), "");
  EXPECT_EQ(tracestate_of("a=" + std::string(257, 'b')), "");
}

TEST(TraceState, TheNewerOfTwoWithOneKeyStays) {
  EXPECT_EQ(tracestate_of("a=1,b=2,a=3"), "a=1,b=2");
}

TEST(TraceState, ThirtyTwoMembersAreTheMost) {
  std::string text = "k0=1";
  for (int i = 1; i < 32; i++) text += ",k" + std::to_string(i) + "=1";
  EXPECT_EQ(tracestate_of(text), text);
  EXPECT_EQ(tracestate_of(text + ",more=1"), "");
}

TEST(TraceState, TooLongLosesLongMembersFirstThenTheRightmost) {
  const std::string a = member('a', 100), b = member('b', 200), c = member('c', 100), d = member('d', 100),
                    e = member('e', 100);
  EXPECT_EQ(tracestate_of(a + "," + b + "," + c + "," + d), a + "," + b + "," + c + "," + d);
  EXPECT_EQ(tracestate_of(a + "," + b + "," + c + "," + d + "," + e), a + "," + c + "," + d + "," + e);
  const std::string f = member('f', 128);
  EXPECT_EQ(tracestate_of(a + "," + c + "," + d + "," + e + "," + f), a + "," + c + "," + d + "," + e);
}

TEST(Breadcrumb, OursIsLeftmostAndTheOldOneGoes) {
  EXPECT_EQ(state_with("a=1,fathom=old,b=2", "0123"), "fathom=0123,a=1,b=2");
  EXPECT_EQ(state_with("", "0123"), "fathom=0123");
  EXPECT_EQ(state_with("fathom=old", ""), "");
  EXPECT_EQ(state_with("a=1,fathom=old", ""), "a=1");
}

TEST(Breadcrumb, RoomIsKeptWithWholeMembers) {
  const std::string node(32, 'f');
  std::string state = member('a', 100) + "," + member('b', 100) + "," + member('c', 100) + "," + member('d', 100) +
                      "," + member('e', 100);
  EXPECT_EQ(state_with(state, node), "fathom=" + node + "," + state.substr(0, 403));
  EXPECT_EQ(state_with("a=1,b=2", "n", 12), "fathom=n,a=1");
  EXPECT_EQ(state_with("a=1,b=2", "n", 11), "fathom=n");
  EXPECT_EQ(state_with("a=1,b=2", "n", 8), "fathom=n");
  EXPECT_EQ(state_with("a=1,b=2", "n", 7), "");
}

TEST(Breadcrumb, ThirtyTwoMembersStayTheMost) {
  std::string text = "k0=1";
  for (int i = 1; i < 32; i++) text += ",k" + std::to_string(i) + "=1";
  const std::string with = state_with(text, "n");
  EXPECT_EQ(std::count(with.begin(), with.end(), ','), 31);
  EXPECT_EQ(with.rfind("fathom=n,k0=1", 0), 0U);
}

}  // namespace
}  // namespace fathom::client

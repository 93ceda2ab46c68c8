#include "cli/next_steps.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>

namespace fathom::cli {
namespace {

struct ChainedSpan {
  std::string operation;
  std::string kind;
  uint64_t micros = 0;
  bool ours = true;  // of fathom's client
  std::string more;  // further members
};

// Each the only child of the one before.
boost::json::value chain_of(const std::vector<ChainedSpan>& spans) {
  std::string json = R"({"trace_id":"0123456789abcdef0123456789abcdef","spans":[)";
  for (size_t i = 0; i < spans.size(); ++i) {
    json += (i == 0 ? "" : ",") + std::string(R"({"span_id":")") + std::to_string(i + 1) + R"(","parent_span_id":")" +
            (i == 0 ? "" : std::to_string(i)) + R"(","service":"of-)" + spans[i].operation + R"(","operation":")" +
            spans[i].operation + R"(","kind":")" + spans[i].kind +
            R"(","start_time_unix_nano":"1795226400000000000","duration_nano":)" +
            std::to_string(spans[i].micros * 1000) + R"(,"resource":)" + (spans[i].ours ? "0" : "1") + spans[i].more +
            "}";
  }
  return boost::json::parse(json + R"(],"resources":[{"attributes":{"telemetry.sdk.name":"fathom"}},)"
                                   R"({"attributes":{"telemetry.sdk.name":"opentelemetry"}}]})");
}

std::string hint_of(const std::vector<ChainedSpan>& spans) {
  const boost::json::value trace = chain_of(spans);
  return record_hint(build_trace_tree(trace));
}

bool says(const std::string& hint, const std::string& words) {
  return hint.find(words) != std::string::npos;
}

TEST(RecordHint, IsOfWhoServedACallAndOfTheTimeThatTook) {
  const std::string hint = hint_of({{"GET /x", "server", 357'000},
                                    {"Call", "client", 347'000},
                                    {"Serve", "server", 38'100},
                                    {"reserve", "internal", 38'000}});
  EXPECT_TRUE(says(hint, "COMMAND starts of-reserve anew")) << hint;
  EXPECT_TRUE(says(hint, "  fathom record --span reserve --min-duration 19ms --threads all")) << hint;
}

TEST(RecordHint, OfACallThatNobodyServedIsOfTheCaller) {
  const std::string hint =
      hint_of({{"GET /x", "server", 357'000}, {"inner", "internal", 350'000}, {"Call", "client", 347'000}});
  EXPECT_TRUE(says(hint, "fathom record --span inner --min-duration 175ms ")) << hint;
  const std::string quick =
      hint_of({{"GET /x", "server", 357'000}, {"Call", "client", 347'000}, {"Serve", "server", 100}});
  EXPECT_TRUE(says(quick, "fathom record --span 'GET /x' --min-duration 178ms ")) << "no time went into it: " << quick;
}

TEST(RecordHint, NamesNoBoundThatASpanIsTooShortFor) {
  const std::string hint = hint_of({{"quick", "server", 900}});
  EXPECT_TRUE(says(hint, "fathom record --span quick --threads all")) << hint;
  const std::string least = hint_of({{"longer", "server", 2'000}});
  EXPECT_TRUE(says(least, "fathom record --span longer --min-duration 1ms ")) << least;
}

TEST(RecordHint, NamesASpanAsItsProgramDoes) {
  const std::string hint = hint_of({{"__other__", "server", 10'000, true, R"(,"name":"order 4711")"}});
  EXPECT_TRUE(says(hint, "fathom record --span 'order 4711' --min-duration 5ms ")) << hint;
}

TEST(RecordHint, WhatTheRecorderDoesNotSeeIsNotNamed) {
  const std::string mixed = hint_of({{"mine", "server", 10'000}, {"theirs", "internal", 9'000, false}});
  EXPECT_TRUE(says(mixed, "fathom record --span mine ")) << mixed;
  const std::string foreign = hint_of({{"theirs", "server", 10'000, false}});
  EXPECT_FALSE(says(foreign, "record --span theirs")) << foreign;
  EXPECT_TRUE(says(foreign, "COMMAND starts of-theirs anew")) << foreign;
  EXPECT_TRUE(says(foreign, "  fathom record --function FUNCTION --threads all")) << foreign;
}

TEST(RecordHint, ClaimsNothingOfSpansThatTookLittleOfTheTime) {
  const std::string words = "most of the time is not in a span that 'fathom record --span' can record";
  const std::string quick = hint_of({{"theirs", "server", 191'000, false}, {"mine", "server", 2'140}});
  EXPECT_TRUE(says(quick, words)) << quick;
  EXPECT_FALSE(says(quick, "not here")) << "the trace has one: " << quick;
  EXPECT_TRUE(says(hint_of({{"theirs", "server", 191'000, false}}), words));
}

TEST(RecordHint, OfNothingIsNothing) {
  EXPECT_EQ(hint_of({}), "");
}

}  // namespace
}  // namespace fathom::cli

// What scripts tell goes into the report whole, and what they do not tell ends a run.
#include "bench/ui/browser_steps.h"

#include <gtest/gtest.h>

#include "bench/ui/busy_data.h"

namespace fathom::bench {
namespace {

Report make_report() {
  return {"ui", "machine", "command"};
}

TEST(BrowserSteps, FiguresNotesAndWhatIsMissingAreTold) {
  Report report = make_report();
  ASSERT_TRUE(add_told(report, R"({"figures":[{"key":"ui.first_view_ms","value":801,"what":"of 5"}],
                                   "notes":["so it was"],"not_measured":[{"key":"ui.x","why":"no such thing"}]})")
                  .ok());
  const std::string table = report.table();
  EXPECT_NE(table.find("<= 800.00  MISSED"), std::string::npos) << table;
  EXPECT_NE(table.find("NOT MEASURED: no such thing"), std::string::npos) << table;
  EXPECT_NE(table.find("so it was"), std::string::npos) << table;
}

TEST(BrowserSteps, BareFiguresAreTold) {
  Report report = make_report();
  ASSERT_TRUE(add_told(report, R"({"deploy.deb_to_first_trace_s": 12.5})").ok());
  EXPECT_NE(report.table().find("<= 60.00  ok"), std::string::npos) << report.table();
}

TEST(BrowserSteps, WhatIsNoFigureIsRefused) {
  Report report = make_report();
  EXPECT_FALSE(add_told(report, "Error: browser has been closed").ok());
  EXPECT_FALSE(add_told(report, R"({"figures":[{"key":"ui.x","value":"fast"}]})").ok());
  EXPECT_FALSE(add_told(report, R"({"figures":[3]})").ok());
}

TEST(BrowserSteps, TheLastLineCountsAndAFailureIsTold) {
  Report report = make_report();
  const BrowserPlaces places{"/nowhere", "/nowhere/chromium"};
  ASSERT_TRUE(
      add_measured(report, {"echo", "words\n{\"figures\":[{\"key\":\"k\",\"value\":3,\"what\":\"\"}]}"}, places, 10)
          .ok());
  EXPECT_NE(report.json().find("\"k\":3"), std::string::npos);
  const Result<> failed = add_measured(report, {"sh", "-c", "echo it broke; exit 3"}, places, 10);
  ASSERT_FALSE(failed.ok());
  EXPECT_NE(failed.error().message.find("it broke"), std::string::npos);
}

TEST(BrowserSteps, NamesTheCureOfWhatIsMissing) {
  EXPECT_NE(missing_for_browser({"/nowhere", "/nowhere/chromium"}).find("apt install"), std::string::npos);
}

TEST(BusyData, FactsComeBack) {
  const BusyFacts facts{1'795'000'000'123'456'789, 1'795'003'600'123'456'789, "4bf92f3577b34da6a3ce929d0e0e4736"};
  const Result<BusyFacts> read = busy_facts(to_json(facts));
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->from_unix_nano, facts.from_unix_nano);
  EXPECT_EQ(read->to_unix_nano, facts.to_unix_nano);
  EXPECT_EQ(read->large_trace, facts.large_trace);
  for (const char* broken :
       {"", "[]", R"({"from_unix_nano":1})", R"({"from_unix_nano":"1","to_unix_nano":2,"large_trace":"a"})"})
    EXPECT_FALSE(busy_facts(broken).ok()) << broken;
}

}  // namespace
}  // namespace fathom::bench

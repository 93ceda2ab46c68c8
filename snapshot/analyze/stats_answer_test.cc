#include "snapshot/analyze/stats_answer.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <set>
#include <sstream>

#include "snapshot/analyze/testing/sample_run.h"
#include "snapshot/analyze/time_resolution.h"

namespace fathom::snapshot {
namespace {

Question stats(Format format = Format::kJson) {
  Question question;
  question.verb = Verb::kStats;
  question.format = format;
  return question;
}

TEST(StatsAnswer, TableJsonPicture) {
  SampleRun run;
  for (int i = 0; i < 10; ++i) run.run_plain();
  run.builder().overflow(kSampleBase + 0x3d6);
  run.run_plain();
  Image missing;
  missing.name = "/opt/lib/gone.so";
  missing.missing = "no such file";
  run.snapshot().images.push_back(missing);
  run.snapshot().losses.push_back({"ring overwritten", 3});
  run.snapshot().losses.push_back({std::string(Loss::kUnused) + "SAMPLE", 15});
  run.finish();
  expect_golden("stats.txt", run.answer_to(stats(Format::kTable)));
  expect_golden("stats.json", run.answer_to(stats()));
  expect_golden("stats.svg", run.answer_to(stats(Format::kSvg)));
}

TEST(StatsAnswer, LongNamesMoveNoColumn) {
  SampleRun run;
  run.run_plain();
  for (const size_t length : {3, 80, 300}) {
    Image image;
    image.name = "/" + std::string(length, 'n');
    image.bytes = 12'345;
    run.snapshot().images.push_back(image);
  }
  run.finish();
  const std::string text = run.answer_to(stats(Format::kTable));
  std::istringstream lines(text.substr(text.find("BUILD ID")));
  std::set<size_t> ends;
  for (std::string line; std::getline(lines, line);) {
    if (const size_t at = line.find("12,345"); at != std::string::npos) ends.insert(at);
  }
  EXPECT_EQ(ends.size(), 1u) << text;
}

TEST(StatsAnswer, CountsAddUp) {
  SampleRun run;
  for (int i = 0; i < 100; ++i) run.run_plain();
  run.finish();
  const auto answer = boost::json::parse(run.answer_to(stats()));
  EXPECT_EQ(answer.at("instructions").as_int64(), static_cast<int64_t>(run.instructions()));
  EXPECT_EQ(answer.at("threads").at(0).at("instructions").as_int64(), static_cast<int64_t>(run.instructions()));
  int64_t bytes = 0;
  for (const auto& kind : answer.at("packets").as_object()) bytes += kind.value().at("bytes").as_int64();
  EXPECT_EQ(answer.at("packet_bytes").as_int64(), bytes);
  EXPECT_TRUE(answer.at("images").at(0).at("present").as_bool());
}

TEST(StatsAnswer, FinerPacketsResolveTimeFiner) {
  SampleRun fine({.cyc = true});
  SampleRun coarse({.mtc = true});
  for (int i = 0; i < 200; ++i) {
    fine.run_plain();
    coarse.run_plain();
  }
  fine.finish();
  coarse.finish();
  const auto of = [](const SampleRun& run) {
    return boost::json::parse(run.answer_to(stats())).at("time_resolution").at("median_instructions").as_int64();
  };
  EXPECT_LT(of(fine), of(coarse));
}

TEST(TimeResolution, MediansBetweenTimedBranches) {
  TimeResolution resolution;
  EXPECT_EQ(resolution.samples(), 0u);
  uint64_t tsc = 100;
  for (int i = 0; i < 101; ++i) {
    resolution.run(tsc, 5);
    resolution.run(tsc, 6);  // at the same time as the packets tell it
    tsc += 20;
  }
  EXPECT_EQ(resolution.samples(), 100u);
  EXPECT_EQ(resolution.median_ticks(), 20u);
  EXPECT_EQ(resolution.median_instructions(), 11u);
}

TEST(TimeResolution, PausesAreLeftOut) {
  TimeResolution resolution;
  resolution.run(100, 5);
  resolution.skip(110, 50'110);
  resolution.run(50'130, 7);
  EXPECT_EQ(resolution.samples(), 1u);
  EXPECT_EQ(resolution.median_ticks(), 30u);
  EXPECT_EQ(resolution.median_instructions(), 5u);
  resolution.restart();
  resolution.skip(60'000, 70'000);
  resolution.run(80'000, 1);
  EXPECT_EQ(resolution.samples(), 1u);
}

TEST(TimeResolution, TheScaleIsThePapers) {
  EXPECT_EQ(TimeResolution::factor(14, 78), 0);
  EXPECT_EQ(TimeResolution::factor(1, 1), 0);
  EXPECT_DOUBLE_EQ(TimeResolution::factor(910'500, 2'500'000), 100);
  EXPECT_EQ(TimeResolution::factor(UINT64_MAX, UINT64_MAX), 100);
  EXPECT_NEAR(TimeResolution::factor(910'500, 1'250'000), 50, 0.001);
}

}  // namespace
}  // namespace fathom::snapshot

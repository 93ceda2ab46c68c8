#include "bench/report.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <fstream>

namespace fathom::bench {
namespace {

Report make_report() {
  Report report("ingest", "a machine", "bench-ingest --spans 1");
  report.add("ingest.ack_ms_p99", 12.5, "open loop");
  report.add("ingest.other", 3, "");
  return report;
}

TEST(Report, WritesTheFiguresByKey) {
  std::string path = testing::TempDir() + "/report_test.json";
  ASSERT_TRUE(make_report().write_json(path).ok());
  std::ifstream file(path);
  std::string text((std::istreambuf_iterator<char>(file)), {});
  boost::json::value value = boost::json::parse(text);
  EXPECT_EQ(value.at("bench").as_string(), "ingest");
  EXPECT_EQ(value.at("machine").as_string(), "a machine");
  EXPECT_EQ(value.at("figures").at("ingest.ack_ms_p99").to_number<double>(), 12.5);
  EXPECT_EQ(value.at("figures").at("ingest.other").to_number<double>(), 3);
}

TEST(Report, SaysWhichBoundsAreMissed) {
  Report report = make_report();
  EXPECT_TRUE(report.bounds_met());
  EXPECT_EQ(report.table().find("MISSED"), std::string::npos);
  report.add("ingest.otlp_grpc_spans_per_s_per_core", 99'999, "");
  EXPECT_FALSE(report.bounds_met());
  EXPECT_NE(report.table().find("MISSED"), std::string::npos);
  EXPECT_NE(report.table().find("a machine"), std::string::npos);
  EXPECT_NE(report.table().find("bench-ingest --spans 1"), std::string::npos);
}

TEST(Report, FailsWhenTheRunFailedOrTheFileCannotBeWritten) {
  EXPECT_EQ(make_report().finish({}, ""), 0);
  EXPECT_EQ(make_report().finish(internal("broken"), ""), 1);
  EXPECT_EQ(make_report().finish({}, testing::TempDir() + "/no/such/directory/x.json"), 1);
}

TEST(Report, SaysLoudlyWhatCouldNotBeMeasuredAndWritesTheRest) {
  const std::string path = testing::TempDir() + "/report_unmeasured.json";
  Report report = make_report();
  report.add_unmeasured("packets.wrong", "no such file");
  EXPECT_NE(report.table().find("NOT MEASURED: no such file"), std::string::npos);
  EXPECT_EQ(report.finish({}, path), 1);
  std::ifstream file(path);
  const boost::json::value value = boost::json::parse(std::string((std::istreambuf_iterator<char>(file)), {}));
  EXPECT_EQ(value.at("figures").at("ingest.other").to_number<double>(), 3);
  EXPECT_EQ(value.at("not_measured").at("packets.wrong").as_string(), "no such file");
}

TEST(Bounds, CoverTheKeysOfTheProject) {
  EXPECT_TRUE(bound_of("query.trace_by_id_ms_p99")->met(5));
  EXPECT_FALSE(bound_of("query.trace_by_id_ms_p99")->met(5.01));
  EXPECT_TRUE(bound_of("ingest.otlp_grpc_spans_per_s_per_core")->met(100'000));
  EXPECT_FALSE(bound_of("query.trace_by_id").has_value());
}

}  // namespace
}  // namespace fathom::bench

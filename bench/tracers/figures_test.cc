#include "bench/tracers/figures.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>

namespace fathom::bench::tracers {
namespace {

RowTimes row_of(std::vector<double> one) {
  RowTimes times;
  times.one = std::move(one);
  times.average = times.deviation = times.p90 = times.two = times.four = times.one;
  times.two_over_one = {1.01, 1.02, 1.03};
  times.instructions = 42;
  return times;
}

// The second round lies in a spell in which all takes twice its time.
EventTimes all_rows() {
  EventTimes times{{"none", row_of({0.3, 0.6, 0.3})},
                   {"floor", row_of({10, 20, 10})},
                   {"tracepoint", row_of({10.5, 21, 10.5})},
                   {"tracepoint_no_clock", row_of({3, 6, 3})},
                   {"tracepoint_disabled", row_of({0.5, 1, 0.5})},
                   {"span", row_of({30, 60, 30})},
                   {"lttng_ust", row_of({100, 200, 100})},
                   {"lttng_ust_small", row_of({105, 210, 105})}};
  times["tracepoint"].switches = {250, 400, 260};
  return times;
}

boost::json::object figures_of(const Report& report) {
  return boost::json::parse(report.json()).at("figures").as_object();
}

TEST(EventFigures, AreFormedWithinRounds) {
  Report report("tracers", "a machine", "");
  add_event_figures(all_rows(), report);
  const boost::json::object figures = figures_of(report);
  auto figure = [&](const char* key) { return figures.at(key).to_number<double>(); };
  EXPECT_DOUBLE_EQ(figure("tracepoint.over_floor"), 1.05);
  EXPECT_DOUBLE_EQ(figure("tracepoint.without_clock_ns"), 3);
  EXPECT_DOUBLE_EQ(figure("tracepoint.over_lttng_ust"), 0.105);
  EXPECT_DOUBLE_EQ(figure("tracepoint.over_lttng_ust_small"), 0.1);
  EXPECT_DOUBLE_EQ(figure("tracepoint.two_threads_over_one"), 1.02);
  EXPECT_DOUBLE_EQ(figure("tracepoint.chunk_switch_ns"), 260);
  EXPECT_NEAR(figure("tracepoint.disabled_ns"), 0.2, 1e-9);
  EXPECT_DOUBLE_EQ(figure("span.start_end_2attr_ns"), 30);
  EXPECT_DOUBLE_EQ(figure("event.floor.loop_median_ns"), 10);
  EXPECT_TRUE(report.bounds_met());
}

TEST(EventFigures, MissTheirBounds) {
  EventTimes times = all_rows();
  times["tracepoint"].one = {11.5, 23, 11.5};
  Report report("tracers", "a machine", "");
  add_event_figures(times, report);
  EXPECT_FALSE(report.bounds_met());
  EXPECT_NE(report.table().find("MISSED"), std::string::npos);
}

TEST(EventFigures, LeaveOutWhatWasNotMeasured) {
  EventTimes times = all_rows();
  times.erase("lttng_ust");
  times.erase("tracepoint_disabled");
  times["tracepoint"].two_over_one.clear();  // one processor
  Report report("tracers", "a machine", "");
  add_event_figures(times, report);
  const boost::json::object figures = figures_of(report);
  EXPECT_FALSE(figures.contains("tracepoint.over_lttng_ust"));
  EXPECT_FALSE(figures.contains("tracepoint.disabled_ns"));
  EXPECT_FALSE(figures.contains("tracepoint.two_threads_over_one"));
  EXPECT_TRUE(figures.contains("tracepoint.over_floor"));
}

TEST(EventTable, HasOursBesideTheSurveys) {
  const std::string table = event_table(all_rows());
  EXPECT_NE(table.find("LTTng-UST, 2 x 8 KiB"), std::string::npos);
  EXPECT_NE(table.find("158"), std::string::npos);
  EXPECT_EQ(table.find("printf"), std::string::npos);
  EXPECT_EQ(event_panel(all_rows()).bars.size(), all_rows().size());
}

TEST(EventTable, HasTheSurveysInstructionsBesideOurs) {
  const std::string table = event_table(all_rows());
  EXPECT_NE(table.find("  1228\n"), std::string::npos) << table;
  EXPECT_EQ(table.find("3211"), std::string::npos) << table;  // tracef() was not measured
}

// A switch that was found in one round only may be chance; a row without buffers has none.
TEST(EventTable, SaysWhereNoSlowPathWasFound) {
  EventTimes times = all_rows();
  times["lttng_ust"].slow = {15'000, 15'200};
  times["lttng_ust"].every = {52'420, 52'420};
  times["lttng_ust_small"].slow = {7'777};
  times["lttng_ust_small"].every = {810};
  const std::string table = event_table(times);
  EXPECT_NE(table.find("15000  52420"), std::string::npos) << table;
  EXPECT_EQ(table.find("7777"), std::string::npos) << table;
  EXPECT_NE(table.find("LTTng-UST, 2 x 8 KiB: no slow path found"), std::string::npos) << table;
  EXPECT_NE(table.find("in 2 of 3 rounds"), std::string::npos) << table;
  EXPECT_EQ(table.find("LTTng-UST: no slow path found"), std::string::npos) << table;
  EXPECT_EQ(table.find("empty loop): no slow path"), std::string::npos) << table;
}

SyscallTimesByRow syscall_times() {
  return {{"none", {{180}, {170}, {5}, {175}, {}}},
          {"perf_trace", {{1'180}, {1'200}, {90}, {1'300}, {1'000}}},
          {"fathom", {{430}, {440}, {20}, {450}, {250}}}};
}

TEST(SyscallFigures, CompareWhatIsAdded) {
  Report report("tracers", "a machine", "");
  add_syscall_figures(syscall_times(), report);
  EXPECT_DOUBLE_EQ(figures_of(report).at("syscall.added_over_perf_trace").to_number<double>(), 0.25);
  EXPECT_DOUBLE_EQ(figures_of(report).at("syscall.fathom.added_ns").to_number<double>(), 250);
}

TEST(SyscallTable, SaysWhyARowIsMissing) {
  const std::string table = syscall_table(syscall_times(), {{"strace", "it is not installed"}});
  EXPECT_NE(table.find("not available here: it is not installed"), std::string::npos);
  EXPECT_EQ(table.find("ftrace"), std::string::npos);
}

}  // namespace
}  // namespace fathom::bench::tracers

#include <gtest/gtest.h>

#include "cli/testing/fake_context.h"
#include "net/uri.h"

namespace fathom::cli {
namespace {

constexpr const char* kBusyServices =
    R"({"services":[{"service":"gateway","service_namespace":"shop","operations":3,"spans":12345,"errors":7,)"
    R"("p50_nano":1000000,"p90_nano":2,"p99_nano":250000000,"max_nano":1500000000},)"
    R"({"service":"a\u001b[2J","service_namespace":"","operations":1,"spans":1,"errors":0,)"
    R"("p50_nano":1,"p99_nano":1,"max_nano":1}],)"
    R"("counted_from_unix_nano":"1795226415000000000","counted_to_unix_nano":"1795227015000000000",)"
    R"("counted_nano":600000000000})";

constexpr const char* kBusyOperations =
    R"({"operations":[{"service":"gateway","service_namespace":"","operation":"GET /x","kind":"server","spans":2,)"
    R"("errors":1,"p50_nano":1000,"p99_nano":2000,"max_nano":3000}]})";

constexpr const char* kLatency =
    R"({"step_nano":60000000000,"points":[)"
    R"({"start_time_unix_nano":"1795226400000000000","count":10,"errors":0,"p50_nano":1000000,"p90_nano":2000000,)"
    R"("p99_nano":5000000,"max_nano":6000000,"cells":[{"low_nano":0,"high_nano":1000000,"count":9},)"
    R"({"low_nano":1000000,"high_nano":8000000,"count":1}]},)"
    R"({"start_time_unix_nano":"1795226520000000000","count":4,"errors":1,"p50_nano":1000000,"p90_nano":2000000,)"
    R"("p99_nano":10000000,"max_nano":16000000,"cells":[{"low_nano":0,"high_nano":1000000,"count":4}]}]})";

std::vector<std::pair<std::string, std::string>> query_of(const std::string& target) {
  Result<net::Target> parsed = net::parse_target(target);
  EXPECT_TRUE(parsed.ok()) << target;
  return parsed ? parsed->query : decltype(parsed->query)();
}

TEST(Services, OneLineEach) {
  FakeWorld world;
  world.answer(200, kBusyServices);
  EXPECT_EQ(world.run({"services"}), ExitCode::kOk);
  EXPECT_TRUE(world.targets[0].starts_with("/api/v1/services?from=")) << world.targets[0];
  EXPECT_EQ(world.out,
            "NAMESPACE  SERVICE   OPERATIONS   SPANS  RATE  ERRORS   P50     P99    MAX\n"
            "shop       gateway            3  12,345  21/s       7  1 ms  250 ms  1.5 s\n"
            "           a\\x1b[2J           1       1   6/h       0  1 ns    1 ns   1 ns\n");
  EXPECT_EQ(world.err, "rates are of 10 min 00 s, from 2026-11-21 02:00:15.000 UTC on\n");
}

TEST(Services, OperationsOfOne) {
  FakeWorld world;
  world.answer(200, kBusyOperations);
  EXPECT_EQ(world.run({"services", "--service", "gateway"}), ExitCode::kOk);
  EXPECT_TRUE(world.targets[0].starts_with("/api/v1/operations?service=gateway&from=")) << world.targets[0];
  EXPECT_EQ(world.out,
            "SERVICE  OPERATION  KIND    SPANS  RATE  ERRORS   P50   P99   MAX\n"
            "gateway  GET /x     server      2     -       1  1 us  2 us  3 us\n")
      << "an older server says nothing of how long it counted";
}

TEST(Services, NothingIsSaidAndIsNoFailure) {
  FakeWorld world;
  world.answer(200, R"({"operations":[]})");
  EXPECT_EQ(world.run({"services", "--service", "nope"}), ExitCode::kOk);
  EXPECT_EQ(world.err, "no spans of service 'nope' in this time; --since 1d looks further back\n");
  EXPECT_EQ(world.out, "");
  FakeWorld json;
  json.answer(200, R"({"operations":[]})");
  EXPECT_EQ(json.run({"services", "--service", "nope", "--format", "json"}), ExitCode::kOk);
  EXPECT_EQ(json.out, "[]\n");
  EXPECT_EQ(json.err, "");
}

TEST(Services, RatesAreOfTheTimeThatWasCounted) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {R"("spans":0}],"counted_nano":1000000000)", " 0/h "},
      {R"("spans":1500}],"counted_nano":1000000000)", " 1,500/s "},
      {R"("spans":5}],"counted_nano":2000000000)", " 2.5/s "},
      {R"("spans":60}],"counted_nano":60000000000)", " 1/s "},
      {R"("spans":59}],"counted_nano":60000000000)", " 59/min "},
      {R"("spans":1}],"counted_nano":7200000000000)", " 0.5/h "},
      {R"("spans":99}],"counted_nano":10000000000)", " 9.9/s "},
      {R"("spans":3}],"counted_nano":0)", " - "}};
  for (const auto& [answer, rate] : cases) {
    FakeWorld world;
    world.answer(200, R"({"services":[{"service":"a",)" + answer + "}");
    EXPECT_EQ(world.run({"services"}), ExitCode::kOk);
    EXPECT_NE(world.out.find(rate), std::string::npos) << world.out;
  }
}

TEST(Services, LongNamesAreWholeWithoutATerminal) {
  FakeWorld world;
  std::string name(500, 'x');
  world.answer(200, R"({"services":[{"service":")" + name + R"("},{"service":""}]})");
  EXPECT_EQ(world.run({"services"}), ExitCode::kOk);
  EXPECT_NE(world.out.find("\n" + name + "  "), std::string::npos) << world.out;
  EXPECT_NE(world.out.find("\n(no name) "), std::string::npos) << world.out;
}

TEST(Services, JsonIsTheArray) {
  FakeWorld world;
  world.answer(200, kBusyOperations);
  EXPECT_EQ(world.run({"services", "--operations", "--format", "json"}), ExitCode::kOk);
  EXPECT_TRUE(world.out.starts_with("[\n{\"service\":\"gateway\"")) << world.out;
  EXPECT_TRUE(world.out.ends_with("}\n]\n"));
  FakeWorld counted;
  counted.answer(200, kBusyServices);
  EXPECT_EQ(counted.run({"services", "--format", "json"}), ExitCode::kOk);
  EXPECT_NE(counted.out.find("\"max_nano\":1,\"counted_nano\":600000000000}"), std::string::npos) << counted.out;
  EXPECT_EQ(counted.err, "");
}

TEST(Services, AnEmptyNameIsAScriptsMistake) {
  FakeWorld world;
  EXPECT_EQ(world.run({"services", "--service", ""}), ExitCode::kUsage);
  EXPECT_EQ(world.run({"latency", "--service", ""}), ExitCode::kUsage);
  EXPECT_EQ(world.run({"slowest", "--operation="}), ExitCode::kUsage);
  EXPECT_TRUE(world.targets.empty());
}

TEST(Latency, PercentilesOverTime) {
  FakeWorld world;
  world.answer(200, kLatency);
  EXPECT_EQ(world.run({"latency", "--service", "gateway", "--step", "1m"}), ExitCode::kOk);
  auto query = query_of(world.targets[0]);
  ASSERT_EQ(query.size(), 4u);
  EXPECT_EQ(query[0], (std::pair<std::string, std::string>("service", "gateway")));
  EXPECT_EQ(query[2], (std::pair<std::string, std::string>("to", "2026-11-21T02:00:00.000000000Z")));
  EXPECT_EQ(query[3], (std::pair<std::string, std::string>("step", "60000000000ns")));
  EXPECT_EQ(world.out,
            "TIME (UTC)        SPANS  ERRORS   P50   P90    P99    MAX  P99\n"
            "2026-11-21 02:00     10       0  1 ms  2 ms   5 ms   6 ms  ━━━━━━━━━━\n"
            "2026-11-21 02:02      4       1  1 ms  2 ms  10 ms  16 ms  ━━━━━━━━━━━━━━━━━━━━\n");
}

TEST(Latency, AsAPicture) {
  FakeWorld world;
  world.answer(200, kLatency);
  EXPECT_EQ(world.run({"latency", "--heatmap"}), ExitCode::kOk);
  EXPECT_NE(world.targets[0].find("heatmap=true"), std::string::npos);
  EXPECT_EQ(world.out,
            "         8 ms │░  \n"
            "         1 ms │█ ▒\n"
            "               2026-11-21 02:00:00.000 to 2026-11-21 02:02:00.000 UTC, a column per 1 min 00 s, full: 9 "
            "spans\n");
}

TEST(Latency, AHostileServerCannotMakeAHugePicture) {
  FakeWorld world;
  world.answer(
      200,
      R"({"step_nano":1,"points":[{"start_time_unix_nano":"0","cells":[{"high_nano":5,"count":1}]},)"
      R"({"start_time_unix_nano":"18446744073709551615","cells":[{"high_nano":5,"count":18446744073709551615}]}]})");
  EXPECT_EQ(world.run({"latency", "--heatmap"}), ExitCode::kOk);
  EXPECT_LT(world.out.size(), 10'000u);
}

TEST(Latency, JsonIsTheServersDocument) {
  FakeWorld world;
  world.answer(200, std::string(kLatency) + "\n");
  EXPECT_EQ(world.run({"latency", "--format=json"}), ExitCode::kOk);
  EXPECT_EQ(world.out, std::string(kLatency) + "\n");
}

TEST(Latency, StepsAreWholeMinutes) {
  for (const char* step : {"--step=0s", "--step=30s", "--step=90s", "--step=1"}) {
    FakeWorld world;
    EXPECT_EQ(world.run({"latency", step}), ExitCode::kUsage);
    EXPECT_TRUE(world.targets.empty());
  }
}

TEST(Latency, NothingIsSaidAloud) {
  FakeWorld world;
  world.answer(200, R"({"step_nano":60000000000,"points":[]})");
  EXPECT_EQ(world.run({"latency"}), ExitCode::kOk);
  EXPECT_EQ(world.out, "");
  EXPECT_NE(world.err.find("no such spans in this time; --since 1d"), std::string::npos);
}

TEST(Timeout, IsAskedOfTheServerToo) {
  FakeWorld world;
  world.answer(200, kLatency);
  world.run({"latency", "--timeout", "20s"});
  world.run({"latency", "--timeout", "10m"});
  EXPECT_NE(world.targets[0].find("timeout=20000000000ns"), std::string::npos);
  EXPECT_NE(world.targets[1].find("timeout=60000000000ns"), std::string::npos) << "the most that servers grant";
}

}  // namespace
}  // namespace fathom::cli

#include "bench/tracers/row_program.h"

#include <gtest/gtest.h>

#include <atomic>
#include <boost/json.hpp>

#include "bench/tracers/instructions.h"
#include "bench/tracers/plain_rows.h"
#include "bench/tracers/workers.h"

namespace fathom::bench::tracers {
namespace {

std::atomic<uint64_t> calls{0}, threads{0}, given_back{0};
std::string wrong;

void count_call(int32_t) {
  calls.fetch_add(1);
}

// Each thread's 100 calls are a buffer.
uint64_t buffer_of_thread() {
  return calls.load() / 100;
}

class Counting : public LoopRow<count_call, 5'000, buffer_of_thread> {
 public:
  Counting() { calls = threads = given_back = 0; }
  void start_thread() override { threads.fetch_add(1); }
  void give_back() override { given_back.fetch_add(1); }
  std::string fault() const override { return wrong; }
};

class RowProgram : public testing::Test {
 protected:
  void SetUp() override { wrong.clear(); }
  boost::json::object ask(const std::string& request) {
    return boost::json::parse(server_.answer(request)).as_object();
  }
  RowServer server_{{{"counting", make_row<Counting>}}};
};

TEST_F(RowProgram, FillsOnEachThreadAndStartsItOnce) {
  EXPECT_TRUE(ask(R"({"row":"counting","do":"fill","workers":[0,1]})").empty());
  EXPECT_EQ(threads, 2);
  EXPECT_GE(calls, 2 * 5'000);
  EXPECT_GT(given_back, 2);
  ask(R"({"row":"counting","do":"fill","workers":[1,3]})");
  EXPECT_EQ(threads, 3);
}

TEST_F(RowProgram, AnswersOneMedianPerThread) {
  const auto answer = ask(R"({"row":"counting","do":"loops","workers":[0,1,2,3],"loops":3,"calls":50})");
  ASSERT_EQ(answer.at("ns").as_array().size(), 4);
  for (const auto& nano : answer.at("ns").as_array()) EXPECT_GT(nano.to_number<double>(), 0);
  EXPECT_GE(calls, 4 * 4 * 50);  // a loop more than is counted
}

TEST_F(RowProgram, FindsTheEventsThatChangedBuffers) {
  const auto answer = ask(R"({"row":"counting","do":"each","calls":2500,"interruption_ns":4000000000})");
  EXPECT_EQ(answer.at("switches").to_number<int>(), 25);
  EXPECT_EQ(answer.at("interrupted").to_number<int>(), 0);
}

TEST_F(RowProgram, RefusesWhatItCannotMeasure) {
  EXPECT_TRUE(ask("no JSON").contains("fault"));
  EXPECT_TRUE(ask(R"({"row":"other","do":"loops"})").contains("fault"));
  EXPECT_TRUE(ask(R"({"row":"counting","do":"dance"})").contains("fault"));
  wrong = "events were lost";
  EXPECT_EQ(ask(R"({"row":"counting","do":"loops","loops":1,"calls":1})").at("fault").as_string(), wrong);
}

TEST(PlainRows, AllRun) {
  for (const RowEntry& entry : plain_rows()) {
    RowServer server({entry});
    const std::string row = std::string(R"({"row":")") + std::string(entry.name) + R"(",)";
    EXPECT_EQ(server.answer(row + R"("do":"fill","workers":[0]})"), "{}") << entry.name;
    EXPECT_EQ(server.answer(row + R"("do":"each","calls":100})").find("fault"), std::string::npos) << entry.name;
  }
}

TEST(Workers, RunTheJobOnThoseThatAreNamed) {
  Workers workers(4);
  std::atomic<unsigned> seen{0};
  for (int i = 0; i < 100; ++i) workers.run({1, 3}, [&](unsigned worker) { seen.fetch_add(worker); });
  EXPECT_EQ(seen, 400);
}

TEST(Workers, GateWaitsForAll) {
  Workers workers(4);
  Gate gate(4);
  std::atomic<unsigned> came{0}, early{0};
  workers.run({0, 1, 2, 3}, [&](unsigned) {
    came.fetch_add(1);
    gate.pass();
    if (came != 4) early.fetch_add(1);
  });
  EXPECT_EQ(early, 0);
}

TEST(Instructions, AreReadFromCallgrindsLastLines) {
  EXPECT_EQ(collected_instructions("==9== Events    : Ir\n==9== Collected : 6113857\n==9== \n"), 6113857U);
  EXPECT_FALSE(collected_instructions("valgrind: no such program").has_value());
  EXPECT_FALSE(collected_instructions("==9== Collected : \n").has_value());
}

}  // namespace
}  // namespace fathom::bench::tracers

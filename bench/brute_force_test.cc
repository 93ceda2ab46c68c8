#include "bench/brute_force.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace fathom::bench {
namespace {

constexpr Schedule kFirst{1'780'000'000'000'000'000, 1'000'000};
constexpr Schedule kSecond{1'780'000'003'000'000'000, 500'000};

struct Row {
  uint64_t duration;
  uint64_t start;
  TraceId id;
  uint32_t route;
  bool canary;
};

std::vector<Row> rows_of(const Workload& workload, uint64_t count) {
  std::vector<Row> rows;
  for (uint64_t index = 0; index < count; ++index) {
    TraceFacts facts = workload.facts(index);
    SpanTimes times = workload.times(facts)[workload.root_position(facts)];
    rows.push_back(
        {times.duration_nano(), times.start_unix_nano, facts.trace_id(), facts.route, facts.tier == Tier::kCanary});
  }
  return rows;
}

// The same answer by a full sort of everything.
std::vector<Row> sorted_answer(std::vector<Row> rows, const Question& question, size_t limit) {
  std::erase_if(rows, [&](const Row& row) {
    return row.start < question.from_unix_nano || row.start >= question.to_unix_nano ||
           (question.canary && !row.canary) || (question.route && row.route != *question.route);
  });
  std::sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) {
    return std::tuple(UINT64_MAX - a.duration, a.start, a.id) < std::tuple(UINT64_MAX - b.duration, b.start, b.id);
  });
  rows.resize(std::min(rows.size(), limit));
  return rows;
}

class BruteForceTest : public testing::TestWithParam<Shape> {
 protected:
  Workload first_{GetParam(), 1, kFirst};
  Workload second_{GetParam(), 2, kSecond};
  TraceTable first_table_{first_, 6000};
  TraceTable second_table_{second_, 6000};
  BruteForce brute_force_{{&first_table_, &second_table_}};

  void expect_equal(const Question& question, size_t limit) {
    std::vector<Row> all = rows_of(first_, 6000);
    std::vector<Row> more = rows_of(second_, 6000);
    all.insert(all.end(), more.begin(), more.end());
    std::vector<Row> expected = sorted_answer(all, question, limit);
    std::vector<ExpectedTrace> got = brute_force_.slowest(question, limit);
    ASSERT_EQ(got.size(), expected.size());
    for (size_t i = 0; i < got.size(); ++i) {
      EXPECT_EQ(got[i].facts().trace_id(), expected[i].id);
      EXPECT_EQ(got[i].duration_nano, expected[i].duration);
      EXPECT_EQ(got[i].start_unix_nano, expected[i].start);
    }
  }
};

TEST_P(BruteForceTest, EqualsAFullSort) {
  uint64_t from = kFirst.start_unix_nano;
  for (uint64_t step = 0; step < 6; ++step) {
    Question question{from + step * 777'777'777, from + step * 777'777'777 + 1'234'567'891};
    expect_equal(question, 20);
    expect_equal(question, 1000);
    question.canary = true;
    expect_equal(question, 20);
    question.canary = false;
    question.route = static_cast<uint32_t>(step);
    expect_equal(question, 20);
  }
}

TEST_P(BruteForceTest, RangesAreHalfOpen) {
  uint64_t start = first_table_.start_unix_nano(100);
  std::vector<ExpectedTrace> one = brute_force_.slowest({start, start + 1}, 5);
  ASSERT_EQ(one.size(), 1u);
  EXPECT_EQ(one[0].index, 100u);
  EXPECT_TRUE(brute_force_.slowest({start - 1, start}, 5).empty());
  EXPECT_TRUE(brute_force_.slowest({0, kFirst.start_unix_nano}, 5).empty());
}

INSTANTIATE_TEST_SUITE_P(Shapes, BruteForceTest, testing::Values(Shape::kShop, Shape::kSingle));

}  // namespace
}  // namespace fathom::bench

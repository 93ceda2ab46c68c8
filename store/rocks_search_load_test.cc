// Searches under load: they do not keep batches from being acknowledged, and a great trace is read once for a page.
#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <thread>
#include <utility>

#include "base/testing/repetitions.h"
#include "base/time.h"

#include "store/testing/rocks_rig.h"

namespace fathom::store::testing {
namespace {

constexpr uint64_t kSpansPerSearchedBatch = 1000;

class RocksSearchLoad : public ::testing::Test {
 protected:
  void SetUp() override {
    rig_.options().durability = Durability::kOs;
    rig_.options().segment_spans = 1'000'000;  // nothing is sealed: every search reads all rows in memory
    rig_.options().segment_bytes = 1 << 30;
    ASSERT_EQ(rig_.open(), "");
    for (uint64_t batch = 1; batch <= 100; ++batch) {
      std::vector<TestSpan> spans;
      for (uint64_t i = 1; i <= kSpansPerSearchedBatch; ++i)
        spans.push_back(test_span(batch, i, 0, i).with({"key", "value"}));
      ASSERT_EQ(append_once(rig_.store(), make_batch(spans)).outcome, AppendOutcome::kDurable);
    }
  }

  // No row has what is asked for, so that each is looked at, under the generation's lock.
  void search_until(const std::atomic<bool>& stop) {
    Filter filter;
    filter.where = {{"key", "another"}};
    while (!stop) {
      QueryBudget budget;
      Result<SlowPage> page = rig_.store().slowest(filter, By::kSpan, 20, std::nullopt, budget);
      EXPECT_TRUE(page.ok() && page->rows.empty());
      ++searches_;
    }
  }

  RocksRig rig_;
  std::atomic<uint64_t> searches_{0};
};

// A batch waits for the searches that are under way, and not for those that come after it. How long that takes depends
// on the machine; how many searches end meanwhile does not. Searches must take much longer than a sender waits for a
// processor, so there are 100 batches to search under a sanitizer as well.
TEST_F(RocksSearchLoad, AcknowledgementsFlowWhileSearchesOverlap) {
  constexpr uint64_t kAppends = 100, kSearchesPerAppend = 5;
  std::atomic<bool> stop = false;
  std::jthread one([&] { search_until(stop); }), other([&] { search_until(stop); });
  EXPECT_TRUE(eventually([&] { return searches_ >= 4; }));
  uint64_t before = searches_;
  std::atomic<uint64_t> acknowledged = 0;
  std::jthread sender([&] {
    for (uint64_t i = 1; i <= kAppends && !stop; ++i) {
      BatchPtr batch = make_batch({test_span(1000 + i, 1, 0, 10)});
      acknowledged += append_once(rig_.store(), batch).outcome == AppendOutcome::kDurable;
    }
  });
  EXPECT_TRUE(
      eventually([&] { return acknowledged == kAppends || searches_ - before > kAppends * kSearchesPerAppend; }));
  EXPECT_EQ(acknowledged, kAppends) << searches_ - before << " searches ended meanwhile";
  stop = true;
}

// All of a page's spans may be of one trace, most of it sealed, with a span that came later in memory.
TEST(RocksSearch, APageOfSpansReadsTheirTraceOnce) {
  RocksRig rig;
  ASSERT_EQ(rig.open(), "");
  std::vector<TestSpan> spans;
  for (uint64_t i = 1; i <= 5000; ++i) spans.push_back(test_span(1, i, 0, i));
  ASSERT_EQ(append_once(rig.store(), make_batch(spans)).outcome, AppendOutcome::kDurable);
  ASSERT_TRUE(rig.store().settle().ok());
  ASSERT_EQ(append_once(rig.store(), make_batch({test_span(1, 6000, 0, 1)})).outcome, AppendOutcome::kDurable);
  auto bytes_read = [&](size_t limit) {
    QueryBudget budget;
    Result<SlowPage> page = rig.store().slowest({}, By::kSpan, limit, std::nullopt, budget);
    EXPECT_TRUE(page.ok() && page->rows.size() == limit);
    return budget.spent_bytes();
  };
  EXPECT_LT(bytes_read(1000), 10 * bytes_read(10));
}

// A trace of very many slow spans stands between others on the first page, and costs the later ones next to nothing.
TEST(RocksSearch, ATraceOfVeryManySlowSpansIsOneOfThePage) {
  const uint64_t all = repetitions(100'000);
  constexpr uint64_t kOthers = 300;
  RocksRig rig;
  ASSERT_EQ(rig.open(), "");
  std::vector<TestSpan> spans;
  for (uint64_t i = 1; i <= all; ++i) {
    spans.push_back(test_span(1000, i, 0, 10 * kMilli + i));
    if (i % 20'000 == 0) {
      ASSERT_EQ(append_once(rig.store(), make_batch(std::exchange(spans, {}))).outcome, AppendOutcome::kDurable);
    }
  }
  // Of each 300 one is slower than all of it, one faster.
  for (uint64_t i = 1; i <= kOthers; ++i) {
    spans.push_back(test_span(i, 1, 0, i % 2 ? 20 * kMilli + i : i));
    spans.push_back(test_span(i, 2, 0, 1));
  }
  ASSERT_EQ(append_once(rig.store(), make_batch(spans)).outcome, AppendOutcome::kDurable);
  for (bool sealed : {false, true}) {
    if (sealed) {
      ASSERT_TRUE(rig.store().settle().ok());
    }
    std::vector<uint64_t> traces;
    std::optional<Cursor> cursor;
    do {
      QueryBudget budget;
      Result<SlowPage> page = rig.store().slowest({}, By::kSpanOfTrace, 40, cursor, budget);
      ASSERT_TRUE(page.ok());
      for (const SlowRow& row : page->rows) traces.push_back(number_of(row.trace_id));
      cursor = page->next;
    } while (cursor);
    ASSERT_EQ(traces.size(), kOthers + 1);
    EXPECT_EQ(traces[kOthers / 2 - 1], 1u);
    EXPECT_EQ(traces[kOthers / 2], 1000u);
    EXPECT_EQ(traces[kOthers / 2 + 1], kOthers);
    EXPECT_EQ(std::set<uint64_t>(traces.begin(), traces.end()).size(), traces.size());
  }
}

// With too little time for all blocks there is an answer of some, scaled up, and not none.
TEST(RocksCalls, TellOfWhatWasLookedAtInTime) {
  constexpr uint64_t kTraces = 40'000;
  RocksRig rig;
  rig.options().segment_spans = 1'000'000;
  ASSERT_EQ(rig.open(), "");
  std::vector<TestSpan> spans;
  for (uint64_t i = 1; i <= kTraces; ++i) {
    spans.push_back(test_span(i, 1, 0, 10));
    spans.push_back(test_span(i, 2, 0, 5).parent(1).of_service("stock"));
  }
  ASSERT_EQ(append_once(rig.store(), make_batch(spans)).outcome, AppendOutcome::kDurable);
  for (uint64_t allowed_nano = 10 * kMicro;; allowed_nano = allowed_nano * 5 / 4) {
    QueryBudget budget(now_monotonic_nano() + allowed_nano, UINT64_MAX);
    Result<CallSample> sample = rig.store().calls({}, UINT64_MAX, budget);
    if (!sample) continue;  // too little for anything
    ASSERT_EQ(sample->edges.size(), 1u);
    EXPECT_LT(sample->spans_looked_at, 2 * kTraces) << "of the last attempt's time half was enough for all";
    EXPECT_NEAR(static_cast<double>(sample->spans), 2.0 * kTraces, 2);
    EXPECT_NEAR(static_cast<double>(sample->traces), 1.0 * kTraces, 2);
    break;
  }
}

}  // namespace
}  // namespace fathom::store::testing

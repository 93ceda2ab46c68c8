// Spans that were all stored before, in other batches: their segment has no spans, and every answer stays as it was.
#include <gtest/gtest.h>

#include "store/testing/rocks_rig.h"
#include "store/verify/verify.h"

namespace fathom::store::testing {
namespace {

class RocksRepeatedSpans : public ::testing::Test {
 protected:
  static BatchPtr batch_of(std::vector<uint64_t> spans) {
    std::vector<TestSpan> made;
    for (const uint64_t span : spans) made.push_back(test_span(span, span, 0, 10 * span));
    return make_batch(made);
  }
  void store(std::vector<uint64_t> spans) {
    const AppendResult result = append_once(rig_.store(), batch_of(std::move(spans)));
    ASSERT_EQ(result.outcome, AppendOutcome::kDurable);
    ASSERT_FALSE(result.duplicate);
    ASSERT_TRUE(rig_.store().settle().ok());
  }
  void expect_answers() {
    QueryBudget budget;
    const Filter all;
    for (const By by : {By::kSpan, By::kTrace}) {
      const Result<SlowPage> page = rig_.store().slowest(all, by, 10, std::nullopt, budget);
      ASSERT_TRUE(page.ok()) << page.error().message;
      EXPECT_EQ(page->rows.size(), 2u);
      const Result<std::vector<SlowRow>> found = rig_.store().find(all, by, 10, budget);
      ASSERT_TRUE(found.ok()) << found.error().message;
      EXPECT_EQ(found->size(), 2u);
    }
    uint64_t times = 0;
    const VisitTimes count = [&](const TimesView& view) { times += view.start_unix_nano.size(); };
    EXPECT_TRUE(rig_.store().visit_times(all, count, budget).ok());
    EXPECT_EQ(times, 2u);
    EXPECT_TRUE(rig_.store().attribute_keys(all.range, budget).ok());
    EXPECT_TRUE(rig_.store().attribute_values(all.range, "key", "", 10, budget).ok());
    EXPECT_TRUE(rig_.store().first_start(all.range, budget).ok());
    EXPECT_TRUE(rig_.store().calls(all.range, 100, budget).ok());
    const Result<uint64_t> most = rig_.store().spans_at_most(all.range, budget);
    ASSERT_TRUE(most.ok()) << most.error().message;
    EXPECT_EQ(*most, 2u);
  }

  RocksRig rig_;
};

TEST_F(RocksRepeatedSpans, ChangeNoAnswer) {
  ASSERT_EQ(rig_.open(), "");
  store({1, 2});
  store({2, 1});
  EXPECT_EQ(rig_.store().stats().segments, 2u);
  expect_answers();
  ASSERT_EQ(rig_.reopen(), "");
  expect_answers();
  rig_.close();
  Findings findings;
  ASSERT_TRUE(verify_store(rig_.path(), findings).ok());
  EXPECT_TRUE(findings.intact());
}

}  // namespace
}  // namespace fathom::store::testing

#include "node-agent/triggers/refused_requests.h"

#include <gtest/gtest.h>

#include "base/time.h"
#include "node-agent/triggers/capture_metrics.h"

namespace fathom::agent {
namespace {

using Refusal = SlowestRequests::Refusal;

class RefusedRequestsTest : public ::testing::Test {
 protected:
  // Refuses `refused` requests. Returns how many may be reported; expects that the others are counted.
  uint64_t reported(Refusal refusal, uint64_t refused) {
    const Counter& counted = skipped_counter(CaptureTrigger::kSlow, RefusedRequests::reason_of(refusal));
    const Counter& dropped = counter("fathom_agent_skip_reports_dropped_total", "");
    const uint64_t counted_before = counted.value(), dropped_before = dropped.value();
    uint64_t reports = 0;
    for (uint64_t i = 0; i < refused; ++i) reports += requests_.may_be_reported(refusal) ? 1 : 0;
    EXPECT_EQ(counted.value() - counted_before, refused - reports);
    EXPECT_EQ(dropped.value() - dropped_before, refused - reports);
    return reports;
  }
  RefusedRequests requests_;
};

TEST_F(RefusedRequestsTest, AFewPerSecondAreReportedAndTheOthersCounted) {
  requests_.step(kNanosPerSecond);
  EXPECT_EQ(reported(Refusal::kTooManyOperations, 1000), 1u);
  EXPECT_EQ(reported(Refusal::kTooOld, 10), 10u);
  EXPECT_EQ(reported(Refusal::kTooManyLate, 1000), 10u) << "both kinds of late requests share a limit";
  requests_.step(2 * kNanosPerSecond - 1);
  EXPECT_EQ(reported(Refusal::kTooManyOperations, 10), 0u);
  requests_.step(2 * kNanosPerSecond);
  EXPECT_EQ(reported(Refusal::kTooManyOperations, 10), 1u);
  EXPECT_EQ(reported(Refusal::kTooOld, 1000), 20u);
}

TEST_F(RefusedRequestsTest, TheirReasonsAreThoseOfReports) {
  EXPECT_EQ(RefusedRequests::reason_of(Refusal::kTooManyOperations), SkipReason::kOperations);
  EXPECT_EQ(RefusedRequests::reason_of(Refusal::kTooOld), SkipReason::kTooLate);
  EXPECT_EQ(RefusedRequests::reason_of(Refusal::kTooManyLate), SkipReason::kTooLate);
}

}  // namespace
}  // namespace fathom::agent

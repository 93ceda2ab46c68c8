#include "collector/agents/capture_info.h"

#include <gtest/gtest.h>

#include "ingest/limits.h"

namespace fathom::collector {
namespace {

ingest::CaptureBegin full_begin() {
  ingest::CaptureBegin begin{.trigger = CaptureTrigger::kError,
                             .service = "checkout",
                             .pid = 7,
                             .operation = "GET /",
                             .start_unix_nano = 1000,
                             .end_unix_nano = 3000,
                             .clock = ClockOffset{-200, 9},
                             .crosses_clock_jump = true,
                             .truncated = true,
                             .losses = {{"overwritten", 5}, {"", 6}},
                             .size_bytes = 77};
  begin.id.bytes.fill('c');
  begin.trace_id.bytes.fill('t');
  begin.span_id.bytes.fill('s');
  begin.sha256.bytes.fill('h');
  return begin;
}

store::CaptureInfo info_of(const ingest::CaptureBegin& begin) {
  ingest::NodeId node;
  node.bytes.fill('n');
  return capture_info(begin, node, "db-1");
}

TEST(CaptureInfo, ABeginIsACapturesHeader) {
  const store::CaptureInfo info = info_of(full_begin());
  EXPECT_EQ(info.id.view(), std::string(16, 'c'));
  EXPECT_EQ(info.trace_id.view(), std::string(16, 't'));
  EXPECT_EQ(info.span_id.view(), std::string(8, 's'));
  EXPECT_EQ(info.node_id.view(), std::string(16, 'n'));
  EXPECT_EQ(info.node_name, "db-1");
  EXPECT_EQ(info.trigger, CaptureTrigger::kError);
  EXPECT_EQ(info.service, "checkout");
  EXPECT_EQ(info.pid, 7u);
  EXPECT_EQ(info.operation, "GET /");
  EXPECT_EQ(info.start_unix_nano, 800u) << "the collector's time";
  EXPECT_EQ(info.end_unix_nano, 2800u);
  EXPECT_EQ(info.clock, (ClockOffset{-200, 9}));
  EXPECT_TRUE(info.crosses_clock_jump);
  EXPECT_TRUE(info.truncated);
  EXPECT_EQ(info.losses, (std::vector<store::CaptureLoss>{{"overwritten", 5}})) << "without those that have no name";
  EXPECT_EQ(info.size_bytes, 77u);
  EXPECT_EQ(info.sha256.view(), std::string(32, 'h'));
  EXPECT_TRUE(store::check(info).ok());
}

TEST(CaptureInfo, WithoutAClockTimesAreAsTheyCame) {
  ingest::CaptureBegin begin = full_begin();
  begin.clock.reset();
  EXPECT_EQ(info_of(begin).start_unix_nano, 1000u);
  EXPECT_FALSE(info_of(begin).clock);
}

TEST(CaptureInfo, NoOffsetMakesAWindowEndBeforeItStarts) {
  for (int64_t offset : {INT64_MIN, INT64_MIN + 1, INT64_MAX}) {
    ingest::CaptureBegin begin = full_begin();
    begin.end_unix_nano = UINT64_MAX - 1;
    begin.clock->offset_nano = offset;
    const store::CaptureInfo info = info_of(begin);
    EXPECT_LE(info.start_unix_nano, info.end_unix_nano) << offset;
    EXPECT_TRUE(store::check(info).ok());
  }
}

TEST(CaptureInfo, WhatIsReadIsWithinTheStoresLimits) {
  ingest::CaptureBegin begin = full_begin();
  begin.service = std::string(ingest::kMostNameBytes, 's');
  begin.operation = std::string(ingest::kMostNameBytes, 'o');
  begin.losses.assign(ingest::kMostLosses, {std::string(ingest::kMostTextBytes, 'r'), 1});
  EXPECT_TRUE(store::check(info_of(begin)).ok());
  begin.trigger = CaptureTrigger{};
  EXPECT_FALSE(store::check(info_of(begin)).ok()) << "one that is not known";
}

TEST(CaptureInfo, ASkippedCaptureIsOfTheStreamsNode) {
  ingest::SkippedCapture skipped{.trigger = CaptureTrigger::kError,
                                 .reason = SkipReason::kRate,
                                 .service = "checkout",
                                 .pid = 7,
                                 .operation = "GET /",
                                 .skipped_unix_nano = 1000};
  skipped.trace_id.bytes.fill('t');
  skipped.span_id.bytes.fill('s');
  ingest::NodeId node;
  node.bytes.fill('n');
  const store::SkippedCapture stored = skipped_capture(skipped, node, "db-1");
  EXPECT_EQ(stored.trace_id, skipped.trace_id);
  EXPECT_EQ(stored.span_id, skipped.span_id);
  EXPECT_EQ(stored.node_id, node);
  EXPECT_EQ(stored.node_name, "db-1");
  EXPECT_EQ(stored.trigger, CaptureTrigger::kError);
  EXPECT_EQ(stored.reason, SkipReason::kRate);
  EXPECT_EQ(stored.service, "checkout");
  EXPECT_EQ(stored.pid, 7u);
  EXPECT_EQ(stored.operation, "GET /");
  EXPECT_EQ(stored.skipped_unix_nano, 1000u);
}

}  // namespace
}  // namespace fathom::collector

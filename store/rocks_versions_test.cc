// Data directories as servers of older formats left them: two segments, over which a trace grows, and a stage. What was
// in them is answered, before and after it is sealed anew, and through restarts.
//
// Each directory of testdata/ was written by the programs of its version: a request, settled; a second, settled; and a
// third that stayed in the stage; from version 6 on, a capture beside each; from version 7 on, the clock, and trace 1
// is oversized. Files without which RocksDB opens it are left out. To add one after a new version: run this test with
// FATHOM_WRITE_GOLDEN set to the directory of the golden files, and commit what it wrote.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>

#include "base/bytes.h"
#include "base/sha256.h"
#include "store/testing/capture_builder.h"
#include "store/testing/rocks_rig.h"

namespace fathom::store::testing {
namespace {

using Lines = std::vector<std::string>;

TraceId trace_id(uint64_t number) {
  std::string bytes(8, '\0');
  append_be64(bytes, number);
  return *TraceId::from_bytes(bytes);
}

// Of trace 1, from different services.
CaptureInfo golden_capture(uint64_t number) {
  CaptureInfo info = test_capture(number);
  info.trace_id = trace_id(1);
  return info;
}

class RocksVersions : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    std::filesystem::copy(FATHOM_TESTDATA "/data-" + GetParam(), rig_.path(), std::filesystem::copy_options::recursive);
    ASSERT_EQ(rig_.open(), "");
  }

  Lines names(uint64_t trace) {
    Lines found;
    QueryBudget budget;
    Result<StoredTrace> stored = rig_.store().trace(trace_id(trace), budget);
    if (!stored) return {stored.error().message};
    for (const StoredSpan& span : stored->spans) {
      EXPECT_EQ(span.span.name, span.operation);
      found.push_back(std::string(span.service) + " " + std::string(span.operation));
    }
    return found;
  }
  StoredTrace stored(uint64_t trace) {
    QueryBudget budget;
    Result<StoredTrace> found = rig_.store().trace(trace_id(trace), budget);
    EXPECT_TRUE(found.ok());
    return found ? std::move(*found) : StoredTrace{};
  }
  // Traces from the slowest on, with their milliseconds.
  Lines slowest(const Filter& filter = {}) {
    QueryBudget budget;
    Lines found;
    Result<SlowPage> page = rig_.store().slowest(filter, By::kTrace, 10, std::nullopt, budget);
    if (!page) return {page.error().message};
    for (const SlowRow& row : page->rows) {
      found.push_back(std::to_string(row.trace_id.bytes.back()) + ": " + std::to_string(row.duration_nano / 1'000'000));
    }
    return found;
  }
  std::map<std::string, uint64_t> operations() {
    QueryBudget budget;
    std::map<std::string, uint64_t> found;
    Result<std::vector<OperationStats>> stats = rig_.store().operations({}, std::nullopt, budget);
    EXPECT_TRUE(stats.ok());
    if (!stats) return found;
    for (const OperationStats& one : *stats) found[one.key.service + " " + one.key.operation] = one.spans;
    return found;
  }

  void check() {
    EXPECT_EQ(names(1), (Lines{"cart GET /cart", "stock SELECT", "stock UPDATE"}));
    EXPECT_EQ(names(2), (Lines{"cart POST /cart", "cart render"}));
    EXPECT_EQ(names(3), Lines{"stock SELECT"});
    EXPECT_EQ(names(4), Lines{"cart GET /cart"});
    EXPECT_EQ(slowest(), (Lines{"1: 130", "4: 40", "3: 30", "2: 20"}));
    Filter filter;
    filter.service = "stock";
    EXPECT_EQ(slowest(filter), (Lines{"1: 130", "3: 30"}));
    filter.operation = "UPDATE";
    EXPECT_EQ(slowest(filter), Lines{"1: 130"});
    Filter by_value;
    by_value.where = {{"user", "u1"}};
    EXPECT_EQ(slowest(by_value), Lines{"1: 130"});
    by_value.where = {{"user", "u4"}};
    EXPECT_EQ(slowest(by_value), Lines{"4: 40"});
    by_value.where = {{"db", "copy"}};
    EXPECT_EQ(slowest(by_value), Lines{"3: 30"});
    Filter errors;
    errors.errors = true;
    EXPECT_EQ(slowest(errors), Lines{"2: 20"});
    EXPECT_EQ(operations(), (std::map<std::string, uint64_t>{{"cart GET /cart", 2},
                                                             {"cart POST /cart", 1},
                                                             {"cart render", 1},
                                                             {"stock SELECT", 2},
                                                             {"stock UPDATE", 1}}));
  }

  // Version 6 was the first to have any.
  void check_captures() {
    uint64_t expected = GetParam() < "v6" ? 0 : 3;
    CaptureStore& captures = rig_.store().captures();
    QueryBudget budget;
    Result<std::vector<StoredCapture>> stored = captures.of_trace(trace_id(1), budget);
    ASSERT_TRUE(stored.ok());
    ASSERT_EQ(stored->size(), expected);
    EXPECT_EQ(captures.stats().damaged, 0u);
    for (uint64_t number = 1; number <= expected; ++number) {
      CaptureInfo info = golden_capture(number);
      info.received_unix_nano = kTestNow;
      info.size_bytes = 1000;
      info.sha256 = sha256(test_content(number, 1000));
      EXPECT_EQ((*stored)[number - 1].info, info);
      EXPECT_EQ(read_all(captures, info.id), test_content(number, 1000));
    }
  }

  RocksRig rig_;
};

TEST_P(RocksVersions, TheirCapturesAreThere) {
  check_captures();
  ASSERT_EQ(rig_.reopen(), "");
  check_captures();
  ASSERT_EQ(send(rig_.store().captures(), test_capture(77), "more").outcome, AppendOutcome::kDurable);
  ASSERT_EQ(rig_.reopen(), "");
  check_captures();
  EXPECT_EQ(read_all(rig_.store().captures(), test_capture_id(77)), "more");
}

TEST_P(RocksVersions, WhatIsInThemIsAnswered) {
  EXPECT_EQ(rig_.store().stats().segments, 2u);
  EXPECT_EQ(rig_.store().stats().spans_unsealed, 2u);
  check();
  ASSERT_TRUE(rig_.store().settle().ok());
  EXPECT_EQ(rig_.store().stats().segments, 3u);
  check();
  for (int restarts = 0; restarts < 2; ++restarts) {
    ASSERT_EQ(rig_.reopen(), "");
    check();
  }
}

TEST_P(RocksVersions, OversizedTracesStayOversized) {
  EXPECT_EQ(stored(1).oversized, GetParam() >= "v7");
  EXPECT_EQ(stored(1).spans_at_most, 3u);
  EXPECT_FALSE(stored(2).oversized);
}

TEST_P(RocksVersions, TheyTakeMoreAndGiveBackWhatIsOld) {
  BatchPtr batch = make_batch({test_span(5, 1, 0, 10).of_service("cart").named("GET /cart")});
  rig_.advance(24 * uint64_t{3'600'000'000'000});
  ASSERT_EQ(append_once(rig_.store(), batch).outcome, AppendOutcome::kDurable);
  EXPECT_EQ(operations().at("cart GET /cart"), 3u);
  ASSERT_TRUE(rig_.store().drop_before(rig_.now_unix_nano()).ok());
  EXPECT_EQ(slowest(), Lines{"5: 0"});
  ASSERT_EQ(rig_.reopen(), "");
  EXPECT_EQ(operations(), (std::map<std::string, uint64_t>{{"cart GET /cart", 1}}));
  EXPECT_TRUE(stored_trace(rig_.store(), 5));
  EXPECT_EQ(names(1), Lines{"trace 00000000000000000000000000000001 is not stored"});
}

TestSpan golden_span(uint64_t trace, uint64_t span, uint64_t start_milli, uint64_t milli) {
  TestSpan made = test_span(1, span, static_cast<int64_t>(start_milli * kMilli), milli * kMilli);
  made.trace_id = trace_id(trace);
  return made;
}

std::vector<BatchPtr> golden_batches() {
  return {make_batch({golden_span(1, 1, 0, 100).of_service("cart").named("GET /cart").with({"user", "u1"}),
                      golden_span(1, 2, 10, 30).parent(1).of_service("stock").named("SELECT").with({"db", "main"}),
                      golden_span(2, 3, 0, 20).of_service("cart").named("POST /cart").failed()}),
          make_batch({golden_span(1, 4, 50, 80).parent(1).of_service("stock").named("UPDATE"),
                      golden_span(2, 5, 5, 10).parent(3).of_service("cart").named("render")}),
          make_batch({golden_span(3, 6, 0, 30).of_service("stock").named("SELECT").with({"db", "copy"}),
                      golden_span(4, 7, 0, 40).of_service("cart").named("GET /cart").with({"user", "u4"})})};
}

// Files without which RocksDB opens a directory.
bool is_spare(const std::filesystem::path& file) {
  std::string name = file.filename();
  return name.starts_with("LOG") || name.starts_with("OPTIONS") || name == "LOCK";
}

void copy_golden(const std::string& from, const std::string& to) {
  std::filesystem::create_directories(to + "/store");
  std::filesystem::copy(from + "/version", to + "/version");
  for (const auto& file : std::filesystem::directory_iterator(from + "/store")) {
    if (!is_spare(file.path())) std::filesystem::copy(file.path(), to + "/store");
  }
  std::filesystem::copy(from + "/clock", to + "/clock");
  std::filesystem::copy(from + "/captures", to + "/captures", std::filesystem::copy_options::recursive);
}

void write_golden(const std::string& directory) {
  RocksOptions options;
  options.oversized.spans = 2;  // trace 1 passes it with its second segment
  RocksRig rig(options);
  ASSERT_EQ(rig.open(), "");
  size_t left = golden_batches().size();
  for (const BatchPtr& batch : golden_batches()) {
    ASSERT_EQ(append_once(rig.store(), batch).outcome, AppendOutcome::kDurable);
    ASSERT_EQ(send(rig.store().captures(), golden_capture(left), test_content(left, 1000)).outcome,
              AppendOutcome::kDurable);
    if (--left == 0) break;
    ASSERT_TRUE(rig.store().settle().ok());
  }
  rig.close();
  std::string version;
  std::ifstream(rig.path() + "/version") >> version;
  copy_golden(rig.path(), directory + "/data-v" + version);
}

TEST(RocksVersionsGolden, IsWrittenOnRequest) {
  if (const char* directory = std::getenv("FATHOM_WRITE_GOLDEN")) write_golden(directory);
}

INSTANTIATE_TEST_SUITE_P(Formats, RocksVersions, ::testing::Values("v1", "v2", "v3", "v4", "v5", "v6", "v7"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace fathom::store::testing

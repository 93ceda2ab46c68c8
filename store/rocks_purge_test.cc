// purge_store(): what matches is gone from rows, indexes and captures; everything else answers as before.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "store/purge/exchange.h"
#include "store/purge/purge.h"
#include "store/testing/capture_builder.h"
#include "store/testing/damage.h"
#include "store/testing/populated_store.h"
#include "store/testing/random_answers.h"
#include "store/verify/repair_mark.h"
#include "store/verify/verify.h"

namespace fathom::store::testing {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kMostTrace = 1'100;  // numbers of populate()'s traces

Result<bool> tells_nothing(std::string_view, const TraceSet&) {
  return false;
}

bool has_text(const std::string& path, std::string_view text) {
  for (const auto& entry : fs::recursive_directory_iterator(path)) {
    if (!entry.is_regular_file()) continue;
    if (read_file(entry.path()).find(text) != std::string::npos) return true;
  }
  return false;
}

class RocksPurge : public ::testing::Test {
 protected:
  void SetUp() override { copy_populated(rig_, /*seed=*/1); }

  PurgeRequest request(std::vector<Condition> where) {
    PurgeRequest request{.directory = rig_.path(), .rule = {std::move(where), tells_nothing}};
    request.read_clocks = rig_.clocks().reader();
    return request;
  }
  PurgeReport purge(const PurgeRequest& request) {
    Result<PurgeReport> report = purge_store(request);
    EXPECT_TRUE(report.ok()) << report.error().message;
    return report ? *std::move(report) : PurgeReport();
  }
  void expect_intact(RocksRig& rig) {
    Findings findings;
    ASSERT_TRUE(verify_store(rig.path(), findings).ok());
    for (const Damage& damage : findings.damages())
      ADD_FAILURE() << damage.part + ": " + damage.place + ": " + damage.reason;
    EXPECT_FALSE(fs::exists(purge_path(rig.path())));
  }

  // What the store says of each trace, and of the slowest ones; traces that are not stored have no text.
  struct Said {
    std::map<uint64_t, std::string> traces;
    std::vector<uint64_t> slowest;
    uint64_t counted = 0;
  };
  Said ask(RocksRig& rig) {
    Said said;
    EXPECT_EQ(rig.open(), "");
    QueryBudget budget;
    for (uint64_t number = 1; number <= kMostTrace; ++number) {
      Result<StoredTrace> trace = rig.store().trace(test_trace_id(number), budget);
      if (trace) said.traces[number] = answer_text(trace);
    }
    Result<SlowPage> page = rig.store().slowest({}, By::kTrace, 10'000, std::nullopt, budget);
    EXPECT_TRUE(page.ok());
    if (page) {
      for (const SlowRow& row : page->rows) said.slowest.push_back(number_of(row.trace_id));
    }
    said.counted = counted_spans(rig.store());
    rig.close();
    return said;
  }
  // The traces with a span that has the attribute.
  std::set<uint64_t> traces_with(RocksRig& rig, const std::string& key, const std::string& value) {
    std::set<uint64_t> found;
    EXPECT_EQ(rig.open(), "");
    for (uint64_t number = 1; number <= kMostTrace; ++number) {
      QueryBudget budget;
      Result<StoredTrace> trace = rig.store().trace(test_trace_id(number), budget);
      if (!trace) continue;
      for (const StoredSpan& span : trace->spans) {
        const Condition condition{key, value};
        if (holds(condition, span.span.attributes, span.resource.attributes)) found.insert(number);
      }
    }
    rig.close();
    return found;
  }

  RocksRig rig_{populated_options()};
};

TEST_F(RocksPurge, EverythingElseAnswersAsBefore) {
  const std::set<uint64_t> matching = traces_with(rig_, "code", "200");
  const Said before = ask(rig_);
  ASSERT_GT(matching.size(), 1u);
  ASSERT_LT(matching.size(), before.traces.size());
  const PurgeReport report = purge(request({{"code", "200"}}));
  EXPECT_EQ(report.purged.traces.size(), matching.size());
  expect_intact(rig_);
  const Said after = ask(rig_);
  for (const auto& [number, text] : before.traces) {
    const auto found = after.traces.find(number);
    EXPECT_EQ(found == after.traces.end(), matching.contains(number)) << number;
    if (found != after.traces.end()) {
      EXPECT_EQ(found->second, text);
    }
  }
  std::vector<uint64_t> expected;
  std::ranges::copy_if(before.slowest, std::back_inserter(expected),
                       [&](uint64_t number) { return !matching.contains(number); });
  EXPECT_EQ(after.slowest, expected);
  EXPECT_LE(after.counted, before.counted - report.spans);
}

TEST_F(RocksPurge, CapturesOfPurgedTracesAndThoseWhoseContentTellsOfThemGo) {
  ASSERT_EQ(rig_.open(), "");
  ASSERT_EQ(send(rig_.store().captures(), test_capture(8), test_content(8, 100)).outcome, AppendOutcome::kDurable);
  ASSERT_TRUE(rig_.store().captures().put_skipped({test_skipped(2), test_skipped(7)}).ok());
  const TestSpan span = test_span(2, 99, 0, 10).with({"user.id", "alice"});
  ASSERT_EQ(append_once(rig_.store(), make_batch({span})).outcome, AppendOutcome::kDurable);
  rig_.close();
  PurgeRequest alice = request({{"user.id", "alice"}});
  alice.rule.is_purged_content = [](std::string_view content, const TraceSet& traces) -> Result<bool> {
    EXPECT_TRUE(traces.contains(test_trace_id(2)));
    return content == test_content(8, 100);
  };
  const PurgeReport report = purge(alice);
  // Capture 1 is of trace 2, as is capture 8, and a report.
  EXPECT_EQ(report.purged.captures.size(), 3u);
  EXPECT_EQ(report.purged.skipped_captures, 1u);
  expect_intact(rig_);
  ASSERT_EQ(rig_.open(), "");
  EXPECT_FALSE(rig_.store().captures().info(test_capture_id(1)).ok());
  EXPECT_FALSE(rig_.store().captures().info(test_capture_id(8)).ok());
  EXPECT_EQ(read_all(rig_.store().captures(), test_capture_id(2)), test_content(2, 6000));
  QueryBudget budget;
  EXPECT_TRUE(rig_.store().captures().skipped_of_trace(test_trace_id(2), budget)->empty());
  EXPECT_EQ(rig_.store().captures().skipped_of_trace(test_trace_id(7), budget)->size(), 1u);
}

TEST_F(RocksPurge, ACaptureAloneIsPurged) {
  const Said before = ask(rig_);
  PurgeRequest nobody = request({{"user.id", "nobody"}});
  nobody.rule.is_purged_content = [](std::string_view content, const TraceSet&) -> Result<bool> {
    return content == test_content(3, 6000);
  };
  const PurgeReport report = purge(nobody);
  EXPECT_EQ(report.purged.captures, std::set<CaptureId>{test_capture_id(3)});
  EXPECT_EQ(report.spans, 0u);
  EXPECT_EQ(ask(rig_).traces, before.traces);
  expect_intact(rig_);
}

TEST_F(RocksPurge, NothingMatches) {
  ASSERT_EQ(rig_.open(), "");
  ASSERT_TRUE(rig_.store().settle().ok());
  const Answers before = all_answers(rig_.store());
  rig_.close();
  EXPECT_TRUE(purge(request({{"user.id", "nobody"}})).purged.empty());
  ASSERT_EQ(rig_.open(), "");
  EXPECT_EQ(all_answers(rig_.store()), before);
}

// Wherever in a span a value is; afterwards no file has it.
TEST_F(RocksPurge, AValueIsFoundInEveryPartOfASpanAndLeavesNoTrace) {
  const std::string secret = "alice-9b1c@example.com";
  std::vector<TestSpan> spans;
  for (uint64_t trace = 901; trace <= 905; ++trace) spans.push_back(test_span(trace, trace, 0, 10));
  spans[0].with({"user.id", secret});
  spans[1].events.push_back({kTestNow, "login", {{"user.id", secret}}});
  spans[2].links.push_back({test_trace_id(3), test_span_id(3), "", {{"user.id", secret}}});
  spans[3].scope.attributes.push_back({"user.id", secret});
  spans[4].resource.attributes.push_back({"user.id", secret});
  ASSERT_EQ(rig_.open(), "");
  ASSERT_EQ(append_once(rig_.store(), make_batch(spans)).outcome, AppendOutcome::kDurable);
  rig_.close();
  ASSERT_TRUE(has_text(rig_.path(), secret));
  const PurgeReport report = purge(request({{"user.id", secret}}));
  EXPECT_EQ(report.purged.traces.size(), 5u);
  EXPECT_FALSE(has_text(rig_.path(), secret));
  expect_intact(rig_);
  EXPECT_FALSE(ask(rig_).traces.contains(901));
}

// Names of operations that only purged traces had are no longer listed.
TEST_F(RocksPurge, NamesOfPurgedOperationsGo) {
  ASSERT_EQ(rig_.open(), "");
  const TestSpan span = test_span(901, 1, 0, 10).named("GET /users/alice-9b1c").with({"user.id", "alice"});
  ASSERT_EQ(append_once(rig_.store(), make_batch({span})).outcome, AppendOutcome::kDurable);
  rig_.close();
  purge(request({{"user.id", "alice"}}));
  EXPECT_FALSE(has_text(rig_.path(), "/users/alice-9b1c"));
  ASSERT_EQ(rig_.open(), "");
  QueryBudget budget;
  Result<std::vector<OperationStats>> operations = rig_.store().operations({}, std::nullopt, budget);
  ASSERT_TRUE(operations.ok());
  EXPECT_GT(operations->size(), 1u);
  for (const OperationStats& one : *operations) EXPECT_NE(one.key.operation, "GET /users/alice-9b1c");
}

TEST_F(RocksPurge, ABatchThatIsSentAgainIsNotStoredAgain) {
  const BatchPtr batch = make_batch({test_span(901, 1, 0, 10).with({"user.id", "alice"})});
  ASSERT_EQ(rig_.open(), "");
  ASSERT_EQ(append_once(rig_.store(), batch).outcome, AppendOutcome::kDurable);
  rig_.close();
  purge(request({{"user.id", "alice"}}));
  ASSERT_EQ(rig_.open(), "");
  EXPECT_TRUE(append_once(rig_.store(), batch).duplicate);
  QueryBudget budget;
  EXPECT_FALSE(rig_.store().trace(test_trace_id(901), budget).ok());
}

TEST_F(RocksPurge, ADryRunCountsAndChangesNothing) {
  const std::set<uint64_t> matching = traces_with(rig_, "code", "200");
  const std::string before = tree_text(rig_.path());
  PurgeRequest dry = request({{"code", "200"}});
  dry.dry_run = true;
  EXPECT_EQ(purge(dry).purged.traces.size(), matching.size());
  EXPECT_EQ(tree_text(rig_.path()), before);
}

// Several conditions are about one span.
TEST_F(RocksPurge, OneSpanMeetsAllConditions) {
  ASSERT_EQ(rig_.open(), "");
  const std::vector<TestSpan> spans = {test_span(901, 1, 0, 10).with({"a", 1}), test_span(901, 2, 0, 10).with({"b", 2}),
                                       test_span(902, 3, 0, 10).with({"a", 1}).with({"b", 2})};
  ASSERT_EQ(append_once(rig_.store(), make_batch(spans)).outcome, AppendOutcome::kDurable);
  rig_.close();
  EXPECT_EQ(purge(request({{"a", "1"}, {"b", "2"}})).purged.traces, TraceSet{test_trace_id(902)});
}

TEST_F(RocksPurge, WhatIsNotSearchedMustNotBeThere) {
  fs::create_directories(rig_.path() + "/damaged/captures");
  Result<PurgeReport> refused = purge_store(request({{"code", "200"}}));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kInvalid);
  EXPECT_NE(refused.error().message.find("delete that directory"), std::string::npos);
}

// The data behind a link would stay.
TEST_F(RocksPurge, LinksAreRefused) {
  for (const char* part : {"/store", "/captures"}) {
    const std::string path = rig_.path() + part, elsewhere = rig_.path() + "/elsewhere";
    fs::rename(path, elsewhere);
    fs::create_directory_symlink(elsewhere, path);
    Result<PurgeReport> refused = purge_store(request({{"code", "200"}}));
    ASSERT_FALSE(refused.ok());
    EXPECT_NE(refused.error().message.find("no link"), std::string::npos) << refused.error().message;
    fs::remove(path);
    fs::rename(elsewhere, path);
  }
}

TEST_F(RocksPurge, OneAtATimeAndNobodyReadsMeanwhile) {
  const Result<PurgeLock> lock = PurgeLock::acquire(rig_.path());
  ASSERT_TRUE(lock.ok());
  EXPECT_EQ(purge_store(request({{"code", "200"}})).error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(complete_purge(rig_.path()).error().code, ErrorCode::kUnavailable);
  Findings findings;
  EXPECT_EQ(verify_store(rig_.path(), findings).error().code, ErrorCode::kUnavailable);
}

TEST_F(RocksPurge, ADirectoryThatIsNotThereYetHasNothingToComplete) {
  const auto completed = complete_purge(rig_.path() + "/new");
  ASSERT_TRUE(completed.ok());
  EXPECT_FALSE(completed->has_value());
}

// An upgrade would keep all data in a backup.
TEST_F(RocksPurge, AnOlderFormatIsUpgradedFirst) {
  std::ofstream(rig_.path() + "/version") << "6\n";
  Result<PurgeReport> refused = purge_store(request({{"code", "200"}}));
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("older format"), std::string::npos) << refused.error().message;
  EXPECT_FALSE(fs::exists(rig_.path() + "/before-upgrade"));
}

TEST_F(RocksPurge, DamageIsRepairedFirst) {
  ASSERT_EQ(rig_.open(), "");
  ASSERT_TRUE(rig_.store().settle().ok());
  rig_.close();
  std::string largest;
  for (const auto& entry : fs::directory_iterator(rig_.path() + "/store")) {
    if (entry.path().extension() != ".sst" || read_file(entry.path()).find("nameblock") == std::string::npos) continue;
    if (largest.empty() || fs::file_size(entry.path()) > fs::file_size(largest)) largest = entry.path();
  }
  ASSERT_NE(largest, "");
  flip_bit(largest, 8 * 100);
  Result<PurgeReport> refused = purge_store(request({{"code", "200"}}));
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("fathom store repair"), std::string::npos) << refused.error().message;
  EXPECT_FALSE(fs::exists(purge_path(rig_.path())));
}

// ---- crashes --------------------------------------------------------------------------------------------------------

class RocksPurgeCrash : public RocksPurge {
 protected:
  // A directory whose purge ended when the copy was complete.
  void SetUp() override {
    RocksPurge::SetUp();
    ASSERT_EQ(rig_.open(), "");
    ASSERT_TRUE(rig_.store().settle().ok());
    rig_.close();
    fs::copy(rig_.path(), purged_.path(), fs::copy_options::recursive);
    purged_.advance(rig_.now_unix_nano() - purged_.now_unix_nano());
    PurgeRequest of_copy = request({{"code", "200"}});
    of_copy.directory = purged_.path();
    ASSERT_FALSE(purge(of_copy).purged.empty());
    const std::string copy = purge_path(rig_.path());
    fs::create_directory(copy);
    for (const char* part : {"store", "captures"}) {
      fs::copy(purged_.path() + "/" + part, copy + "/" + part, fs::copy_options::recursive);
    }
    ASSERT_TRUE((RepairMark{repair_source(rig_.path()), RepairMark::State::kNothingLost}.write(copy)).ok());
  }
  static void complete(const std::string& path) {
    const auto completed = complete_purge(path);
    ASSERT_TRUE(completed.ok()) << completed.error().message;
  }
  void move_out(const std::string& part) {
    fs::rename(rig_.path() + "/" + part, purge_path(rig_.path()) + "/" + part + ".old");
  }
  void move_in(const std::string& part) { fs::rename(purge_path(rig_.path()) + "/" + part, rig_.path() + "/" + part); }
  void expect_completed() {
    complete(rig_.path());
    expect_intact(rig_);
    EXPECT_EQ(ask(rig_).traces, ask(purged_).traces);
  }

  RocksRig purged_{populated_options()};
};

TEST_F(RocksPurgeCrash, BeforeTheExchange) {
  expect_completed();
}

TEST_F(RocksPurgeCrash, BetweenTheRenamesOfOnePart) {
  move_out("store");
  expect_completed();
}

TEST_F(RocksPurgeCrash, BetweenTheParts) {
  move_out("store"), move_in("store");
  expect_completed();
}

TEST_F(RocksPurgeCrash, BetweenTheRenamesOfTheLastPart) {
  move_out("store"), move_in("store"), move_out("captures");
  expect_completed();
}

TEST_F(RocksPurgeCrash, WhileTheOldPartsAreDeleted) {
  move_out("store"), move_in("store"), move_out("captures"), move_in("captures");
  fs::remove_all(purge_path(rig_.path()) + "/store.old");
  expect_completed();
}

TEST_F(RocksPurgeCrash, AnUnfinishedCopyIsRemoved) {
  const Said before = ask(rig_);
  fs::rename(purge_path(rig_.path()), purge_path(rig_.path()) + ".unfinished");
  ASSERT_TRUE(complete_purge(rig_.path()).ok());
  EXPECT_FALSE(fs::exists(purge_path(rig_.path()) + ".unfinished"));
  EXPECT_EQ(ask(rig_).traces, before.traces);
}

// Otherwise what a server stored after the copy was made would be lost.
TEST_F(RocksPurgeCrash, ACopyOfDataThatHasChangedIsRemoved) {
  const Said before = ask(rig_);  // each start begins a log
  ASSERT_TRUE(complete_purge(rig_.path()).ok());
  EXPECT_FALSE(fs::exists(purge_path(rig_.path())));
  EXPECT_EQ(ask(rig_).traces, before.traces);
}

}  // namespace
}  // namespace fathom::store::testing

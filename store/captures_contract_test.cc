// What CaptureStore promises, on the model and on RocksDB.
#include <gtest/gtest.h>

#include "base/sha256.h"
#include "store/model/memory_captures.h"
#include "store/testing/capture_builder.h"
#include "store/testing/rocks_rig.h"

namespace fathom::store::testing {
namespace {

constexpr uint64_t kBudgetBytes = 100 << 12;
constexpr uint64_t kWholeBudgetBytes = kBudgetBytes + (1 << 12);  // and the page reserved for a skipped capture
static_assert(budget_without_skipped(kWholeBudgetBytes) == kBudgetBytes);
constexpr uint64_t kMostCaptureBytes = 20 << 12;

class CaptureContract : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    rig_.options().capture_bytes = kWholeBudgetBytes;
    rig_.options().capture_most_bytes = kMostCaptureBytes;
    bool rocks = GetParam() == std::string("Rocks");
    if (rocks) {
      ASSERT_EQ(rig_.open(), "");
    }
    store_ = rocks ? &rig_.store().captures() : &model_;
  }

  CaptureStore& store() { return *store_; }
  std::vector<uint64_t> ids(const std::vector<StoredCapture>& rows) {
    std::vector<uint64_t> found;
    for (const StoredCapture& row : rows) found.push_back(row.info.id.bytes[15] - 1u);
    return found;
  }
  std::vector<uint64_t> find(const CaptureFilter& filter, size_t limit = 100) {
    QueryBudget budget;
    std::vector<uint64_t> found;
    std::optional<CaptureCursor> cursor;
    do {
      Result<CapturePage> page = store().find(filter, limit, cursor, budget);
      EXPECT_TRUE(page.ok());
      for (uint64_t id : ids(page->rows)) found.push_back(id);
      cursor = page->next;
    } while (cursor);
    return found;
  }

  // A header with hash and size.
  static CaptureInfo announced(uint64_t number, const std::string& content) {
    CaptureInfo info = test_capture(number);
    info.sha256 = sha256(content);
    info.size_bytes = content.size();
    return info;
  }

  RocksRig rig_;
  MemoryCaptures model_{{kWholeBudgetBytes, kMostCaptureBytes, [this] { return rig_.now_unix_nano(); }}};
  CaptureStore* store_ = nullptr;
};

TEST_P(CaptureContract, WhatWasSentIsRead) {
  CaptureInfo sent = test_capture(1);
  sent.truncated = true;
  sent.crosses_clock_jump = true;
  std::string content = test_content(1, 30'000);
  AppendResult answer = send(store(), sent, content, 7'001);
  EXPECT_EQ(answer.outcome, AppendOutcome::kDurable) << answer.message;
  EXPECT_FALSE(answer.duplicate);
  Result<StoredCapture> stored = store().info(sent.id);
  ASSERT_TRUE(stored.ok());
  sent.received_unix_nano = rig_.now_unix_nano();
  sent.size_bytes = 30'000;
  sent.sha256 = sha256(content);
  EXPECT_EQ(stored->info, sent);
  EXPECT_FALSE(stored->damaged);
  EXPECT_EQ(read_all(store(), sent.id, 10'000), content);
  EXPECT_EQ(store().read(sent.id, 29'990, 100).value(), content.substr(29'990));
  EXPECT_EQ(store().read(sent.id, 30'000, 100).value(), "");
  EXPECT_EQ(store().read(sent.id, UINT64_MAX, SIZE_MAX).value(), "");
  EXPECT_EQ(store().read(test_capture_id(2), 0, 1).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(store().info(test_capture_id(2)).error().code, ErrorCode::kNotFound);
}

TEST_P(CaptureContract, AnEmptyOneIsACapture) {
  EXPECT_EQ(send(store(), test_capture(1), "").outcome, AppendOutcome::kDurable);
  EXPECT_EQ(read_all(store(), test_capture_id(1)), "");
  EXPECT_EQ(store().stats().bytes, 4096u);
}

TEST_P(CaptureContract, TheSameAgainIsNotDoubled) {
  std::string content = test_content(1, 5'000);
  ASSERT_EQ(send(store(), test_capture(1), content).outcome, AppendOutcome::kDurable);
  AppendResult again = send(store(), test_capture(1), content);
  EXPECT_EQ(again.outcome, AppendOutcome::kDurable);
  EXPECT_TRUE(again.duplicate);
  EXPECT_EQ(store().stats().captures, 1u);
  EXPECT_EQ(send(store(), test_capture(1), test_content(2, 5'000)).outcome, AppendOutcome::kRejected);
  EXPECT_EQ(read_all(store(), test_capture_id(1)), content);
}

TEST_P(CaptureContract, WhoSaysTheHashNeedNotSendWhatIsStored) {
  std::string content = test_content(1, 5'000);
  CaptureInfo info = test_capture(1);
  info.sha256 = sha256(content);
  info.size_bytes = content.size();
  {
    Result<std::unique_ptr<CaptureWriter>> writer = store().begin(info);
    ASSERT_TRUE(writer.ok());
    EXPECT_FALSE((*writer)->is_stored_already());
    EXPECT_TRUE((*writer)->append(0, content).ok());
    EXPECT_FALSE((*writer)->finish().duplicate);
  }
  Result<std::unique_ptr<CaptureWriter>> writer = store().begin(info);
  ASSERT_TRUE(writer.ok());
  EXPECT_TRUE((*writer)->is_stored_already());
  EXPECT_TRUE((*writer)->append(0, "what nobody looks at").ok());
  EXPECT_EQ((*writer)->finish().outcome, AppendOutcome::kDurable);
  EXPECT_TRUE((*writer)->finish().duplicate);
  info.sha256.bytes[0] ^= 1;
  EXPECT_EQ(store().begin(info).error().code, ErrorCode::kInvalid);
}

TEST_P(CaptureContract, WhatIsNotAsAnnouncedIsRejected) {
  std::string content = test_content(1, 5'000);
  CaptureInfo info = test_capture(1);
  info.sha256 = sha256(test_content(2, 5'000));
  EXPECT_EQ(send(store(), info, content).outcome, AppendOutcome::kRejected);
  info = test_capture(1);
  info.size_bytes = 5'001;
  EXPECT_EQ(send(store(), info, content).outcome, AppendOutcome::kRejected);
  info.size_bytes = 4'999;
  EXPECT_EQ(send(store(), info, content).outcome, AppendOutcome::kRejected);
  EXPECT_EQ(store().stats(), CaptureStats());
}

TEST_P(CaptureContract, PiecesFollowOneAnother) {
  Result<std::unique_ptr<CaptureWriter>> writer = store().begin(test_capture(1));
  ASSERT_TRUE(writer.ok());
  EXPECT_EQ(store().stats().writers, 1u);
  EXPECT_TRUE((*writer)->append(0, "abc").ok());
  EXPECT_EQ((*writer)->append(0, "abc").error().code, ErrorCode::kInvalid);
  EXPECT_EQ((*writer)->append(4, "e").error().code, ErrorCode::kInvalid);
  EXPECT_TRUE((*writer)->append(3, "de").ok());
  EXPECT_EQ((*writer)->size_bytes(), 5u);
  EXPECT_EQ((*writer)->finish().outcome, AppendOutcome::kDurable);
  EXPECT_EQ((*writer)->finish().outcome, AppendOutcome::kDurable);
  EXPECT_FALSE((*writer)->finish().duplicate);
  EXPECT_FALSE((*writer)->append(5, "f").ok());
  EXPECT_EQ(store().stats().writers, 0u);
  EXPECT_EQ(read_all(store(), test_capture_id(1)), "abcde");
}

TEST_P(CaptureContract, WhatIsTooLargeIsRefusedForGood) {
  EXPECT_EQ(send(store(), test_capture(1), test_content(1, kMostCaptureBytes)).outcome, AppendOutcome::kDurable);
  Result<std::unique_ptr<CaptureWriter>> writer = store().begin(test_capture(2));
  ASSERT_TRUE((*writer)->append(0, test_content(1, kMostCaptureBytes)).ok());
  EXPECT_EQ((*writer)->append(kMostCaptureBytes, "x").error().code, ErrorCode::kExhausted);
  EXPECT_EQ((*writer)->finish().outcome, AppendOutcome::kRejected);
  CaptureInfo info = test_capture(3);
  info.size_bytes = kMostCaptureBytes + 1;
  EXPECT_EQ(store().begin(info).error().code, ErrorCode::kExhausted);
}

TEST_P(CaptureContract, AnAbandonedOneLeavesNothing) {
  {
    Result<std::unique_ptr<CaptureWriter>> writer = store().begin(test_capture(1));
    ASSERT_TRUE((*writer)->append(0, "abc").ok());
  }
  EXPECT_EQ(store().stats(), CaptureStats());
  EXPECT_EQ(store().info(test_capture_id(1)).error().code, ErrorCode::kNotFound);
}

TEST_P(CaptureContract, OfTwoWithOneIdTheFirstToFinishStands) {
  Result<std::unique_ptr<CaptureWriter>> a = store().begin(test_capture(1)), b = store().begin(test_capture(1)),
                                         c = store().begin(test_capture(1));
  ASSERT_TRUE((*a)->append(0, "one").ok());
  ASSERT_TRUE((*b)->append(0, "one").ok());
  ASSERT_TRUE((*c)->append(0, "two").ok());
  EXPECT_FALSE((*b)->finish().duplicate);
  EXPECT_TRUE((*a)->finish().duplicate);
  EXPECT_EQ((*c)->finish().outcome, AppendOutcome::kRejected);
  EXPECT_EQ(read_all(store(), test_capture_id(1)), "one");
}

TEST_P(CaptureContract, HeadersThatSayNonsenseAreRefused) {
  auto fault = [this](auto change) {
    CaptureInfo info = test_capture(1);
    change(info);
    Result<std::unique_ptr<CaptureWriter>> writer = store().begin(info);
    return writer.ok() ? "none" : std::string(error_code_name(writer.error().code)) + ": " + writer.error().message;
  };
  std::string invalid = std::string(error_code_name(ErrorCode::kInvalid)) + ": ";
  EXPECT_EQ(fault([](CaptureInfo&) {}), "none");
  EXPECT_EQ(fault([](CaptureInfo& info) { info.id = {}; }), invalid + "a capture has no id");
  EXPECT_EQ(fault([](CaptureInfo& info) { info.tenant = 1; }),
            invalid + "a capture is of a tenant that does not exist");
  EXPECT_EQ(fault([](CaptureInfo& info) { info.trigger = static_cast<CaptureTrigger>(8); }),
            invalid + "a capture's trigger is unknown");
  EXPECT_EQ(fault([](CaptureInfo& info) { info.end_unix_nano = info.start_unix_nano - 1; }),
            invalid + "a capture's window ends before it starts");
  EXPECT_EQ(fault([](CaptureInfo& info) { info.service = "\xff"; }), invalid + "a capture's service is not UTF-8");
  EXPECT_EQ(fault([](CaptureInfo& info) { info.operation = std::string(4097, 'x'); }),
            invalid + "a capture's operation is too long");
  EXPECT_EQ(fault([](CaptureInfo& info) {
              info.losses.assign(65, {"lost", 1});
            }),
            invalid + "a capture names too many losses");
  EXPECT_EQ(fault([](CaptureInfo& info) { info.losses = {{"", 1}}; }), invalid + "a capture's loss has no name");
}

TEST_P(CaptureContract, FoundByWhatTheyAreOf) {
  for (uint64_t number = 0; number < 12; ++number) {
    CaptureInfo info = test_capture(number, static_cast<int64_t>(number / 2) * 10);
    if (number == 11) info.trace_id = {};
    ASSERT_EQ(send(store(), info, "content").outcome, AppendOutcome::kDurable);
  }
  using Numbers = std::vector<uint64_t>;
  EXPECT_EQ(find({}), (Numbers{11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0}));
  EXPECT_EQ(find({}, 5), find({}));
  EXPECT_EQ(find({}, 1), find({}));
  EXPECT_EQ(find({}, 12), find({}));
  EXPECT_EQ(find({}, 0), Numbers());
  CaptureFilter filter;
  filter.range = {kTestNow + 10, kTestNow + 30};
  EXPECT_EQ(find(filter, 3), (Numbers{5, 4, 3, 2}));
  filter.service = "cart";
  EXPECT_EQ(find(filter), (Numbers{5, 3}));
  filter.range = {};
  EXPECT_EQ(find(filter, 2), (Numbers{11, 9, 7, 5, 3, 1}));
  filter.trigger = CaptureTrigger::kError;
  EXPECT_EQ(find(filter), Numbers{9});
  filter = {};
  filter.process = CaptureProcess{test_node_id(1), 101};
  EXPECT_EQ(find(filter), Numbers{1});
  filter.process->pid = 999;
  EXPECT_EQ(find(filter), Numbers());
  filter = {};
  filter.trace_id = test_trace_id(1);
  EXPECT_EQ(find(filter), (Numbers{7, 0}));
  QueryBudget budget;
  EXPECT_EQ(ids(store().of_trace(test_trace_id(1), budget).value()), (Numbers{0, 7}));
  EXPECT_EQ(ids(store().of_trace(test_trace_id(9), budget).value()), Numbers());
  EXPECT_EQ(ids(store().of_trace(TraceId(), budget).value()), Numbers());
  std::vector<TraceId> traces;
  for (uint64_t trace = 1; trace <= 7; ++trace) traces.push_back(test_trace_id(trace));
  EXPECT_EQ(store().traces(budget).value(), traces);
  budget.cancel();
  EXPECT_EQ(store().traces(budget).error().code, ErrorCode::kCancelled);
  EXPECT_EQ(store().find({}, 5, std::nullopt, budget).error().code, ErrorCode::kCancelled);
}

TEST_P(CaptureContract, TheOldestGoForTheBudget) {
  // 20 pages each, with the one that every capture takes.
  ASSERT_EQ(send(store(), test_capture(5), test_content(5, 19 << 12)).outcome, AppendOutcome::kDurable);
  for (uint64_t number = 0; number < 10; ++number) {
    rig_.advance(1);
    if (number == 5) continue;
    ASSERT_EQ(send(store(), test_capture(number), test_content(number, 19 << 12)).outcome, AppendOutcome::kDurable);
    EXPECT_LE(store().stats().bytes, kBudgetBytes);
  }
  EXPECT_EQ(find({}), (std::vector<uint64_t>{9, 8, 7, 6, 4}));
  EXPECT_EQ(store().stats().oldest_received_unix_nano, kTestNow + 5);
  EXPECT_EQ(send(store(), test_capture(20), "").outcome, AppendOutcome::kDurable);
  EXPECT_EQ(find({}), (std::vector<uint64_t>{20, 9, 8, 7, 6}));
  EXPECT_EQ(store().stats().bytes, kBudgetBytes - (19 << 12));
}

TEST_P(CaptureContract, AnUploadThatTookLongIsTheOldestAllTheSame) {
  constexpr size_t kBytes = 19 << 12;
  Result<std::unique_ptr<CaptureWriter>> slow = store().begin(test_capture(0));
  ASSERT_TRUE((*slow)->append(0, test_content(0, kBytes)).ok());
  for (uint64_t number = 1; number <= 5; ++number) {
    rig_.advance(1);
    ASSERT_EQ(send(store(), test_capture(number), test_content(number, kBytes)).outcome, AppendOutcome::kDurable);
  }
  ASSERT_EQ((*slow)->finish().outcome, AppendOutcome::kDurable);
  EXPECT_EQ(find({}), (std::vector<uint64_t>{5, 4, 3, 2, 0}));
  ASSERT_EQ(send(store(), test_capture(6), test_content(6, kBytes)).outcome, AppendOutcome::kDurable);
  EXPECT_EQ(find({}), (std::vector<uint64_t>{6, 5, 4, 3, 2}));
}

TEST_P(CaptureContract, WhatWasReceivedBeforeIsDropped) {
  for (uint64_t number = 0; number < 5; ++number) {
    ASSERT_EQ(send(store(), test_capture(number), test_content(number, 100)).outcome, AppendOutcome::kDurable);
    rig_.advance(10);
  }
  ASSERT_TRUE(store().drop_before(kTestNow + 20).ok());
  EXPECT_EQ(find({}), (std::vector<uint64_t>{4, 3, 2}));
  EXPECT_EQ(read_all(store(), test_capture_id(1)), "(error) not_found");
  EXPECT_EQ(store().stats().captures, 3u);
  // It may come again.
  EXPECT_FALSE(send(store(), test_capture(1), test_content(9, 100)).duplicate);
  EXPECT_EQ(read_all(store(), test_capture_id(1)), test_content(9, 100));
}

TEST_P(CaptureContract, SeveralMayHaveTheSameContent) {
  std::string content = test_content(1, 5'000);
  ASSERT_EQ(send(store(), test_capture(1), content).outcome, AppendOutcome::kDurable);
  rig_.advance(10);
  ASSERT_EQ(send(store(), test_capture(2), content).outcome, AppendOutcome::kDurable);
  ASSERT_TRUE(store().drop_before(kTestNow + 10).ok());
  EXPECT_EQ(find({}), std::vector<uint64_t>{2});
  EXPECT_EQ(read_all(store(), test_capture_id(2)), content);
}

TEST_P(CaptureContract, WhatAnotherOneHasNeedNotBeSent) {
  const std::string content = test_content(1, 5'000);
  ASSERT_EQ(send(store(), test_capture(1), content).outcome, AppendOutcome::kDurable);
  CaptureInfo info = announced(2, content);
  Result<std::unique_ptr<CaptureWriter>> writer = store().begin(info);
  ASSERT_TRUE(writer.ok());
  EXPECT_TRUE((*writer)->is_stored_already());
  EXPECT_EQ(store().info(info.id).error().code, ErrorCode::kNotFound) << "not finished";
  const AppendResult answer = (*writer)->finish();
  EXPECT_EQ(answer.outcome, AppendOutcome::kDurable);
  EXPECT_FALSE(answer.duplicate);
  EXPECT_EQ(read_all(store(), info.id), content);
  EXPECT_EQ(store().info(info.id).value().info.trace_id, info.trace_id);
  info = announced(3, content);
  ++info.size_bytes;
  EXPECT_FALSE(store().begin(info).value()->is_stored_already()) << "its size is another one";
  info.size_bytes = 0;
  EXPECT_FALSE(store().begin(info).value()->is_stored_already()) << "nor is it, where no size is said";
}

TEST_P(CaptureContract, AContentThatIsDroppedBeforeTheEndIsToComeAgain) {
  const std::string content = test_content(1, 5'000);
  ASSERT_EQ(send(store(), test_capture(1), content).outcome, AppendOutcome::kDurable);
  Result<std::unique_ptr<CaptureWriter>> writer = store().begin(announced(2, content));
  ASSERT_TRUE(writer.ok());
  rig_.advance(10);
  ASSERT_TRUE(store().drop_before(kTestNow + 10).ok());
  EXPECT_EQ((*writer)->finish().outcome, AppendOutcome::kRetryable);
  EXPECT_EQ(store().stats().captures, 0u);
  EXPECT_FALSE(store().begin(announced(2, content)).value()->is_stored_already());
}

TEST_P(CaptureContract, ASharedContentIsChargedOnce) {
  constexpr uint64_t kPage = 1 << 12, kContent = 19 * kPage;
  const std::string content = test_content(0, kContent);
  const auto send_next = [&](uint64_t number, const std::string& bytes) {
    rig_.advance(1);
    ASSERT_EQ(send(store(), test_capture(number), bytes).outcome, AppendOutcome::kDurable);
  };
  for (uint64_t number = 0; number < 11; ++number) send_next(number, content);
  EXPECT_EQ(store().stats().bytes, 11 * kPage + kContent);
  send_next(11, test_content(1, kContent));
  send_next(12, test_content(2, kContent));
  send_next(13, test_content(3, kContent));
  EXPECT_EQ(store().stats().bytes, kBudgetBytes - 10 * kPage);
  send_next(14, test_content(4, kContent - 9 * kPage));
  EXPECT_EQ(store().stats().bytes, kBudgetBytes) << "one of those that share went, and one page with it";
  EXPECT_EQ(find({}).size(), 14u);
  EXPECT_EQ(read_all(store(), test_capture_id(1)), content);
  send_next(15, test_content(5, 0));
  EXPECT_EQ(find({}).size(), 14u);
  send_next(16, test_content(6, 9 * kPage));
  EXPECT_EQ(find({}), (std::vector<uint64_t>{16, 15, 14, 13, 12, 11})) << "all of them, and then the content";
  EXPECT_EQ(store().stats().bytes, kBudgetBytes - 18 * kPage);
}

TEST_P(CaptureContract, TheNewOneMayShareWithTheOneThatGoes) {
  const std::string content = test_content(0, 19 << 12);
  for (uint64_t number = 0; number < 5; ++number) {
    rig_.advance(1);
    ASSERT_EQ(send(store(), test_capture(number), number == 0 ? content : test_content(number, 19 << 12)).outcome,
              AppendOutcome::kDurable);
  }
  EXPECT_EQ(store().stats().bytes, kBudgetBytes);
  rig_.advance(1);
  ASSERT_EQ(send(store(), test_capture(5), content).outcome, AppendOutcome::kDurable);
  EXPECT_EQ(store().stats().bytes, kBudgetBytes);
  EXPECT_EQ(read_all(store(), test_capture_id(5)), content);
  EXPECT_EQ(read_all(store(), test_capture_id(0)), "(error) not_found");
  ASSERT_TRUE(store().drop_before(kTestNow + 6).ok());
  EXPECT_EQ(store().stats().bytes, 20u << 12);
}

INSTANTIATE_TEST_SUITE_P(Stores, CaptureContract, ::testing::Values("Model", "Rocks"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace fathom::store::testing

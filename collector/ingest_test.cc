#include "collector/ingest.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "collector/otlp/decoded.h"
#include "collector/testing/fake_store.h"
#include "collector/testing/requests.h"
#include "redact/redactor.h"

namespace fathom::collector {
namespace {

using namespace testing;
using store::AppendOutcome;

class IngestTest : public ::testing::Test {
 protected:
  std::shared_ptr<Ingest> make(const IngestOptions& options = {}) { return std::make_shared<Ingest>(options, store_); }

  // Submits a request; the answer is there when the store has answered.
  static std::shared_ptr<std::optional<Answer>> submit(Ingest& ingest, const std::string& body,
                                                       Encoding encoding = Encoding::kProtobuf) {
    auto answer = std::make_shared<std::optional<Answer>>();
    ingest.submit(Transport::kGrpc, encoding, body, ingest.open(), [answer](Answer given) {
      EXPECT_FALSE(answer->has_value()) << "answered twice";
      *answer = std::move(given);
    });
    return answer;
  }
  static uint64_t requests(const char* result) {
    return counted("fathom_otlp_requests_total", std::string("transport=\"grpc\",result=\"") + result + "\"");
  }

  FakeStore store_;
};

TEST_F(IngestTest, AnswersWhenEverythingIsDurable) {
  auto ingest = make({.limits = {.spans_per_batch = 10}});
  uint64_t before = requests("ok"), spans = counted("fathom_otlp_spans_total", "transport=\"grpc\"");
  store_.hold();
  auto answer = submit(*ingest, simple_request(25).SerializeAsString());
  EXPECT_EQ(store_.batches().size(), 3u);
  EXPECT_FALSE(answer->has_value());
  store_.release();
  ASSERT_TRUE(answer->has_value());
  EXPECT_EQ((*answer)->verdict, Verdict::kOk);
  EXPECT_EQ(requests("ok"), before + 1);
  EXPECT_EQ(counted("fathom_otlp_spans_total", "transport=\"grpc\""), spans + 25);
}

class CountingObserver : public SpanObserver {
 public:
  void took(const store::Batch& batch) override { spans += batch.rows().size(); }
  size_t spans = 0;
};

TEST_F(IngestTest, AnObserverSeesEverySpan) {
  auto observer = std::make_shared<CountingObserver>();
  auto ingest = make({.limits = {.spans_per_batch = 10}, .observer = observer});
  Request request = simple_request(25);
  first_span(request).clear_span_id();
  submit(*ingest, request.SerializeAsString());
  EXPECT_EQ(observer->spans, 24u) << "not the one that was refused";
}

// The store calls it, while it syncs.
TEST_F(IngestTest, AnObserverSeesALoneBatchOnce) {
  auto observer = std::make_shared<CountingObserver>();
  auto ingest = make({.observer = observer});
  submit(*ingest, simple_request(25).SerializeAsString());
  EXPECT_EQ(store_.batches().size(), 1u);
  EXPECT_EQ(observer->spans, 25u);
}

class NameObserver : public SpanObserver {
 public:
  void took(const store::Batch& batch) override {
    store::Batch::Scratch scratch;
    for (const store::Batch::Row& row : batch.rows()) names.emplace_back(batch.span(row, scratch).name);
  }
  std::vector<std::string> names;
};

// What agents say of a batch beside it stays as it is.
TEST_F(IngestTest, StoreAndObserversSeeRedactedSpansOnly) {
  auto redactor = Redactor::make(std::vector<std::string>{"mask value GET", "drop key user"}, RedactKey{});
  ASSERT_TRUE(redactor.ok());
  auto observer = std::make_shared<NameObserver>();
  auto ingest = make({.observer = observer, .redactor = *redactor});
  const Stamp stamp{ClockOffset{7, 1}, Hash128{1, 2}};
  ingest->submit(
      Transport::kAgent, Encoding::kProtobuf, simple_request(1).SerializeAsString(), ingest->open(),
      [](const Answer&) {}, stamp);
  ASSERT_EQ(store_.batches().size(), 1u);
  const store::BatchPtr batch = store_.batches()[0];
  const std::string body = simple_request(1).SerializeAsString();
  EXPECT_EQ(batch->identity(), decode_protobuf(body, {}, unlimited(), stamp)->batches.at(0)->identity())
      << "what an agent sends again is recognised, though rules have changed";
  EXPECT_EQ(batch->encoded().find("GET"), std::string::npos);
  EXPECT_EQ(observer->names, std::vector<std::string>{"[masked] /cart"});
  ingest->set_limits({});
  submit(*ingest, body);
  EXPECT_EQ(observer->names.back(), "GET /cart");
}

TEST_F(IngestTest, AnEmptyRequestSucceedsWithoutTheStore) {
  auto ingest = make();
  auto answer = submit(*ingest, "");
  ASSERT_TRUE(answer->has_value());
  EXPECT_EQ((*answer)->verdict, Verdict::kOk);
  EXPECT_TRUE(store_.batches().empty());
}

TEST_F(IngestTest, PartialSuccessCountsRejectedSpansByReason) {
  auto ingest = make();
  uint64_t before = counted("fathom_rejected_spans_total", "reason=\"span_id\"");
  Request request = simple_request(3);
  first_span(request).clear_span_id();
  auto answer = submit(*ingest, request.SerializeAsString());
  EXPECT_EQ((*answer)->verdict, Verdict::kPartial);
  EXPECT_EQ((*answer)->rejected_spans, 1u);
  EXPECT_EQ(store_.spans(), 2u);
  EXPECT_EQ(counted("fathom_rejected_spans_total", "reason=\"span_id\""), before + 1);
}

TEST_F(IngestTest, MalformedRequestsStoreNothing) {
  auto ingest = make();
  uint64_t before = requests("invalid");
  auto answer = submit(*ingest, simple_request(3).SerializeAsString() + "\x0a\x7f");
  EXPECT_EQ((*answer)->verdict, Verdict::kInvalid);
  EXPECT_TRUE(store_.batches().empty());
  EXPECT_EQ(requests("invalid"), before + 1);
}

TEST_F(IngestTest, OneRetryableBatchMakesTheRequestRetryable) {
  auto ingest = make({.retry_delay_nano = 5, .limits = {.spans_per_batch = 10}});
  uint64_t before = requests("unavailable");
  store_.script({{AppendOutcome::kDurable, ""}, {AppendOutcome::kRetryable, "the disk is full"}});
  auto answer = submit(*ingest, simple_request(25).SerializeAsString());
  EXPECT_EQ((*answer)->verdict, Verdict::kUnavailable);
  EXPECT_EQ((*answer)->message, "the disk is full");
  EXPECT_EQ((*answer)->retry_delay_nano, 5u);
  EXPECT_EQ(requests("unavailable"), before + 1);
}

TEST_F(IngestTest, WhatTheStoreRejectsIsPartialSuccess) {
  auto ingest = make({.limits = {.spans_per_batch = 10}});
  uint64_t before = counted("fathom_rejected_spans_total", "reason=\"store\"");
  store_.script({{AppendOutcome::kDurable, ""}, {AppendOutcome::kRejected, "not these"}});
  auto answer = submit(*ingest, simple_request(25).SerializeAsString());
  EXPECT_EQ((*answer)->verdict, Verdict::kPartial);
  EXPECT_EQ((*answer)->rejected_spans, 10u);
  EXPECT_EQ((*answer)->message, "10 x not these");
  EXPECT_EQ(counted("fathom_rejected_spans_total", "reason=\"store\""), before + 10);
}

TEST_F(IngestTest, PartialSuccessNamesEveryReasonWithItsCount) {
  auto ingest = make({.limits = {.spans_per_batch = 10}});
  store_.script({{AppendOutcome::kRejected, "not these"}, {AppendOutcome::kRejected, "nor these"}});
  Request request = simple_request(25);
  auto& spans = *request.mutable_resource_spans(0)->mutable_scope_spans(0)->mutable_spans();
  spans[0].set_trace_id("short");
  spans[1].clear_span_id();
  spans[2].set_parent_span_id("ninebytes");
  spans[3].clear_trace_id();
  auto answer = submit(*ingest, request.SerializeAsString());
  EXPECT_EQ((*answer)->rejected_spans, 24u);
  EXPECT_EQ((*answer)->message,
            "2 x trace_id must be 16 bytes, not all of them zero; 1 x span_id must be 8 bytes, not all of them zero; "
            "1 x parent_span_id must be empty or 8 bytes; 10 x nor these; 10 x not these");
}

TEST_F(IngestTest, ARetrySaysWhatItIsFor) {
  auto ingest = make({.limits = {.spans_per_batch = 10}});
  store_.script({{AppendOutcome::kRejected, "not these"}, {AppendOutcome::kRetryable, "the disk is full"}});
  auto answer = submit(*ingest, simple_request(20).SerializeAsString());
  EXPECT_EQ((*answer)->verdict, Verdict::kUnavailable);
  EXPECT_EQ((*answer)->message, "the disk is full");
}

TEST_F(IngestTest, DuplicatesAreSuccess) {
  auto ingest = make();
  store_.script({{AppendOutcome::kDurable, "", true}});
  EXPECT_EQ((*submit(*ingest, simple_request(1).SerializeAsString()))->verdict, Verdict::kOk);
}

TEST_F(IngestTest, AnEmptyBudgetAsksForARetryAndRecovers) {
  auto ingest = make({.budget_bytes = 1 << 20});
  std::string body = simple_request(1000).SerializeAsString();
  store_.hold();
  auto first = submit(*ingest, body);
  auto second = submit(*ingest, body);
  EXPECT_FALSE(first->has_value());
  Reservation rest = ingest->open();
  while (rest.grow(1024)) continue;
  auto refused = submit(*ingest, body);
  ASSERT_TRUE(refused->has_value());
  EXPECT_EQ((*refused)->verdict, Verdict::kUnavailable);
  rest.release();
  store_.release();
  EXPECT_EQ((*first)->verdict, Verdict::kOk);
  EXPECT_EQ((*submit(*ingest, body))->verdict, Verdict::kOk);
}

TEST_F(IngestTest, WhatCanNeverFitIsOversizedNotRetryable) {
  auto ingest = make({.budget_bytes = 100 * 1024});
  auto answer = submit(*ingest, simple_request(5000).SerializeAsString());
  EXPECT_EQ((*answer)->verdict, Verdict::kOversized);
}

TEST_F(IngestTest, LimitsMayBeSetAnew) {
  auto ingest = make({.max_request_bytes = 1000, .budget_bytes = 100 * 1024});
  const std::string body = simple_request(5000).SerializeAsString();
  EXPECT_EQ((*submit(*ingest, body))->verdict, Verdict::kOversized);
  ingest->set_limits({.max_request_bytes = 2000, .budget_bytes = 64 << 20, .limits = {.spans_per_batch = 10}});
  EXPECT_EQ(ingest->options().max_request_bytes, 2000u);
  EXPECT_EQ((*submit(*ingest, body))->verdict, Verdict::kOk);
  EXPECT_EQ(store_.batches().size(), 500u);
  ingest->set_limits({.budget_bytes = 100 * 1024});
  EXPECT_FALSE(ingest->has_room(101 * 1024).ok());
  EXPECT_EQ((*submit(*ingest, body))->verdict, Verdict::kOversized);
}

TEST_F(IngestTest, TheGaugeShowsTheBudgetAtEveryMoment) {
  auto ingest = make({.budget_bytes = 1 << 20});
  Gauge& used = gauge("fathom_otlp_budget_used_bytes", "");
  int64_t before = used.value();
  Reservation some = ingest->open();
  ASSERT_TRUE(some.grow(1 << 20));
  EXPECT_EQ(used.value(), before + (1 << 20));
  EXPECT_FALSE(some.grow(1));
  EXPECT_EQ(used.value(), before + (1 << 20)) << "what was not taken is not shown";
  some.release();
  EXPECT_EQ(used.value(), before);
  store_.hold();
  auto answer = submit(*ingest, simple_request(100).SerializeAsString());
  EXPECT_GT(used.value(), before);
  store_.release();
  EXPECT_EQ(used.value(), before);
}

TEST_F(IngestTest, GivesBackAllMemory) {
  auto ingest = make({.budget_bytes = 1 << 20});
  for (int round = 0; round < 50; ++round) submit(*ingest, simple_request(500).SerializeAsString());
  Reservation all = ingest->open();
  EXPECT_TRUE(all.grow(1 << 20));
}

TEST_F(IngestTest, LivesUntilTheLastAnswer) {
  auto ingest = make();
  store_.hold();
  auto answer = submit(*ingest, simple_request(1).SerializeAsString());
  ingest.reset();
  store_.release();
  EXPECT_EQ((*answer)->verdict, Verdict::kOk);
}

TEST_F(IngestTest, OddSpansCountOnceTheyAreStored) {
  auto ingest = make();
  auto odd = [](const char* oddity) {
    return counted("fathom_odd_spans_total", std::string("oddity=\"") + oddity + "\"");
  };
  uint64_t early = odd("end_before_start"), endless = odd("no_end");
  Request request = simple_request(3);
  first_span(request).set_end_time_unix_nano(5);
  request.mutable_resource_spans(0)->mutable_scope_spans(0)->mutable_spans(1)->clear_end_time_unix_nano();
  std::string body = request.SerializeAsString();
  store_.script({{AppendOutcome::kRetryable, "the disk is full"}});
  EXPECT_EQ((*submit(*ingest, body))->verdict, Verdict::kUnavailable);
  EXPECT_EQ(odd("end_before_start") + odd("no_end"), early + endless) << "they will come again";
  EXPECT_EQ((*submit(*ingest, body))->verdict, Verdict::kOk);
  EXPECT_EQ(odd("end_before_start"), early + 1);
  EXPECT_EQ(odd("no_end"), endless + 1);
}

TEST_F(IngestTest, EveryLossCounts) {
  auto ingest = make({.limits = {.attributes_per_span = 1, .events_per_span = 1, .links_per_span = 1}});
  const std::pair<const char*, const char*> kSeries[] = {
      {"fathom_limited_total", "limit=\"attributes_per_span\""},
      {"fathom_limited_total", "limit=\"events_per_span\""},
      {"fathom_limited_total", "limit=\"links_per_span\""},
      {"fathom_lost_links_total", "reason=\"invalid_id\""},
      {"fathom_lost_attributes_total", "reason=\"nested_too_deep\""},
      {"fathom_repaired_texts_total", ""},
  };
  std::vector<uint64_t> before;
  for (auto [name, labels] : kSeries) before.push_back(counted(name, labels));
  Request request = full_request();
  ProtoSpan& span = first_span(request);
  *span.add_events() = span.events(0);
  *span.add_links() = span.links(0);
  span.mutable_links(0)->clear_trace_id();
  *span.add_links() = span.links(1);
  ProtoValue* deep = request.mutable_resource_spans(0)->mutable_resource()->mutable_attributes(0)->mutable_value();
  for (unsigned i = 0; i <= kMaxValueDepth; ++i) deep = deep->mutable_array_value()->add_values();
  std::string body = request.SerializeAsString();
  body[body.find("no stock")] = '\xff';
  EXPECT_EQ((*submit(*ingest, body))->verdict, Verdict::kOk);
  for (size_t i = 0; i < before.size(); ++i) {
    EXPECT_GT(counted(kSeries[i].first, kSeries[i].second), before[i]) << kSeries[i].first << kSeries[i].second;
  }
}

}  // namespace
}  // namespace fathom::collector

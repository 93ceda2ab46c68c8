// Oversized traces in answers: marked, with bounds, and in pages.
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <set>

#include "query/answers_json.h"
#include "query/proto_convert.h"
#include "query/queries.h"
#include "query/testing/sample_store.h"
#include "query/trace_cursor.h"
#include "store/model/memory_store.h"

namespace fathom::query {
namespace {

constexpr uint64_t kSpans = 25;

class OversizedTrace : public ::testing::Test {
 protected:
  OversizedTrace() {
    store::BatchBuilder builder;
    for (uint64_t i = 1; i <= kSpans; ++i) builder.add(span(1, i));
    builder.add(span(2, 1));
    store_.append(builder.finish(), [](store::AppendResult) {});
  }

  static store::SpanView span(uint64_t trace, uint64_t number) {
    return {.trace_id = testing::sample_trace_id(trace),
            .span_id = testing::sample_span_id(number),
            .start_unix_nano = 1000 * number,
            .end_unix_nano = 1000 * number + 10,
            .name = "op"};
  }

  boost::json::object page(const TracePage& page, uint64_t trace = 1) {
    store::QueryBudget budget;
    auto document = run_trace(store_, testing::sample_trace_id(trace), budget, page);
    EXPECT_TRUE(document.ok()) << document.error().message;
    return document ? boost::json::parse(*document).as_object() : boost::json::object();
  }

  store::MemoryStore store_{{.trace_spans = 10}};
};

TEST_F(OversizedTrace, ComesInPages) {
  TracePage asked{10, ""};
  size_t spans = 0, pages = 0;
  do {
    boost::json::object got = page(asked);
    EXPECT_TRUE(got["oversized"].as_bool());
    EXPECT_FALSE(got["complete"].as_bool());
    EXPECT_EQ(got["spans_at_most"].as_int64(), static_cast<int64_t>(kSpans));
    EXPECT_EQ(got["duration_nano"].as_int64(), static_cast<int64_t>(1000 * (kSpans - 1) + 10));
    spans += got["spans"].as_array().size();
    asked.cursor = std::string(got["next_cursor"].as_string());
  } while (!asked.cursor.empty() && ++pages < kSpans);
  EXPECT_EQ(spans, kSpans);
  EXPECT_EQ(pages, 2u);
}

TEST_F(OversizedTrace, OrdinaryTracesComeWholeAndUnchanged) {
  boost::json::object got = page({1, ""}, 2);
  EXPECT_TRUE(got["complete"].as_bool());
  for (const char* member : {"oversized", "spans_at_most", "next_cursor"}) EXPECT_FALSE(got.contains(member)) << member;
}

TEST_F(OversizedTrace, RefusesTheCursorOfAnotherTrace) {
  TracePage asked{10, std::string(page({10, ""})["next_cursor"].as_string())};
  store::QueryBudget budget;
  EXPECT_EQ(run_trace(store_, testing::sample_trace_id(2), budget, asked).error().code, ErrorCode::kInvalid);
  asked.cursor = "nonsense";
  EXPECT_EQ(run_trace(store_, testing::sample_trace_id(1), budget, asked).error().code, ErrorCode::kInvalid);
}

// Over gRPC, a document must fit into a message.
TEST_F(OversizedTrace, ADocumentThatIsTooLargeComesInPages) {
  store::BatchBuilder builder;
  for (uint64_t i = 1; i <= 9; ++i) builder.add(span(3, i));
  store_.append(builder.finish(), [](store::AppendResult) {});
  const uint64_t whole_bytes = boost::json::serialize(page({}, 3)).size();
  EXPECT_EQ(page({}, 3)["spans"].as_array().size(), 9u);
  TracePage asked{4, ""};
  std::set<std::string> ids;
  size_t pages = 0;
  do {
    store::QueryBudget budget;
    auto document = run_trace(store_, testing::sample_trace_id(3), budget, asked, whole_bytes - 1);
    ASSERT_TRUE(document.ok()) << document.error().message;
    boost::json::object got = boost::json::parse(*document).as_object();
    EXPECT_TRUE(got["oversized"].as_bool());
    EXPECT_TRUE(got["complete"].as_bool());
    for (const auto& one : got["spans"].as_array()) ids.insert(std::string(one.at("span_id").as_string()));
    asked.cursor = std::string(got["next_cursor"].as_string());
  } while (++pages < 9 && !asked.cursor.empty());
  EXPECT_EQ(ids.size(), 9u);
  EXPECT_EQ(pages, 3u);
  store::QueryBudget budget;
  EXPECT_EQ(run_trace(store_, testing::sample_trace_id(3), budget, {4, ""}, 10).error().code, ErrorCode::kExhausted);
}

// A cursor names the spans that the store kept together: another store, or this one after a restart, compares them.
TEST_F(OversizedTrace, CursorsKeepAllTheirFields) {
  const store::TraceCursor cursor{11, 12, 13, 14, testing::sample_span_id(15), 16};
  const TraceId id = testing::sample_trace_id(1);
  auto read = decode_trace_cursor(encode_trace_cursor(cursor, id), id);
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->received_sequence, 11u);
  EXPECT_EQ(read->first_sequence, 12u);
  EXPECT_EQ(read->last_sequence, 13u);
  EXPECT_EQ(read->start_unix_nano, 14u);
  EXPECT_EQ(read->span_id, testing::sample_span_id(15));
  EXPECT_EQ(read->sequence, 16u);
}

TEST_F(OversizedTrace, IsMarkedInRows) {
  store::QueryBudget budget;
  auto answer = run_slowest(store_, {}, budget);
  ASSERT_TRUE(answer.ok());
  ASSERT_EQ(answer->rows.size(), 2u);
  v1::SlowestResponse proto;
  fill(proto, *answer);
  EXPECT_TRUE(proto.rows(0).oversized());
  EXPECT_FALSE(proto.rows(1).oversized());
  auto rows = boost::json::parse(to_json(*answer)).as_object()["rows"].as_array();
  EXPECT_TRUE(rows[0].at("oversized").as_bool());
  EXPECT_FALSE(rows[1].as_object().contains("oversized"));
}

TEST_F(OversizedTrace, PagesOfRpcsAreBounded) {
  v1::TraceRequest request;
  EXPECT_EQ(page_of(request)->limit, store::kTracePageSpans);
  request.set_limit(7);
  request.set_cursor("c");
  EXPECT_EQ(page_of(request)->limit, 7u);
  EXPECT_EQ(page_of(request)->cursor, "c");
  request.set_limit(kMaxTracePageSpans + 1);
  EXPECT_EQ(page_of(request).error().code, ErrorCode::kInvalid);
}

}  // namespace
}  // namespace fathom::query

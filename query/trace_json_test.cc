#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "query/queries.h"
#include "query/testing/sample_store.h"
#include "query/trace_text.h"

namespace fathom::query {
namespace {

using store::AttributeView;
using store::ValueView;

// Everything that a span can say, in one.
TEST(TraceJson, LeavesNothingOut) {
  AttributeView attributes[] = {{"n", ValueView::of_int(9007199254740993)},
                                {"long", {store::ValueType::kCut, "cu", 0}}};
  store::EventView events[] = {{12, "retry", attributes, 3}};
  store::LinkView links[] = {{testing::sample_trace_id(9), testing::sample_span_id(9), "l=1", attributes, 4, 1}};
  AttributeView resource[] = {{"service.name", ValueView::of_string("s\xff")},
                              {"long", {store::ValueType::kCut, "cu", 0}}};
  store::SpanView span{.trace_id = testing::sample_trace_id(1),
                       .span_id = testing::sample_span_id(2),
                       .parent_span_id = testing::sample_span_id(3),
                       .start_unix_nano = 1000,
                       .end_unix_nano = 900,
                       .name = "op",
                       .kind = store::SpanKind::kClient,
                       .status = store::StatusCode::kError,
                       .status_message = "broken \"pipe\"",
                       .trace_state = "a=b",
                       .flags = 257,
                       .attributes = attributes,
                       .events = events,
                       .links = links,
                       .dropped_attributes_count = 5,
                       .dropped_events_count = 6,
                       .dropped_links_count = 7};
  store::BatchBuilder builder({}, ClockOffset{-300, 20});
  builder.set_resource({resource, "res schema", 8});
  builder.set_scope({"scope", "2", attributes, "scope schema", 9});
  builder.add(span);
  span.end_unix_nano = 1100;
  builder.add(span);
  store::MemoryStore store;
  store.append(builder.finish(), [](store::AppendResult) {});

  store::QueryBudget budget;
  auto document = run_trace(store, span.trace_id, budget);
  ASSERT_TRUE(document.ok());
  auto trace = boost::json::parse(*document).as_object();
  EXPECT_FALSE(trace["complete"].as_bool());
  EXPECT_EQ(trace["start_time_unix_nano"].as_string(), "700");
  ASSERT_EQ(trace["spans"].as_array().size(), 2u);
  auto shown = trace["spans"].as_array()[0].as_object();
  EXPECT_EQ(shown["start_time_unix_nano"].as_string(), "1000");
  EXPECT_EQ(shown["corrected_start_time_unix_nano"].as_string(), "700");
  EXPECT_EQ(boost::json::serialize(shown["clock"]), R"({"offset_nano":-300,"error_nano":20})");
  EXPECT_TRUE(shown["conflicting"].as_bool());
  EXPECT_EQ(shown["kind"].as_string(), "client");
  EXPECT_EQ(shown["status"].as_string(), "error");
  EXPECT_EQ(shown["status_message"].as_string(), "broken \"pipe\"");
  EXPECT_EQ(shown["trace_state"].as_string(), "a=b");
  EXPECT_EQ(shown["flags"].as_int64(), 257);
  EXPECT_EQ(shown["dropped_attributes_count"].as_int64(), 5);
  EXPECT_EQ(shown["dropped_events_count"].as_int64(), 6);
  EXPECT_EQ(shown["dropped_links_count"].as_int64(), 7);
  EXPECT_EQ(boost::json::serialize(shown["cut_attributes"]), R"(["long"])");
  EXPECT_EQ(
      boost::json::serialize(shown["events"]),
      R"([{"name":"retry","time_unix_nano":"12","attributes":{"n":9007199254740993,"long":"cu"},"cut_attributes":["long"],"dropped_attributes_count":3}])");
  EXPECT_EQ(shown["links"].as_array()[0].at("trace_state").as_string(), "l=1");
  EXPECT_EQ(shown["links"].as_array()[0].at("dropped_attributes_count").as_int64(), 4);
  EXPECT_EQ(boost::json::serialize(shown["links"].as_array()[0].at("cut_attributes")), R"(["long"])");
  auto described = trace["resources"].as_array().at(0).as_object();
  EXPECT_EQ(described["attributes"].at("service.name").as_string(), "s\xef\xbf\xbd");
  EXPECT_EQ(described["schema_url"].as_string(), "res schema");
  EXPECT_EQ(described["dropped_attributes_count"].as_int64(), 8);
  EXPECT_EQ(boost::json::serialize(described["cut_attributes"]), R"(["long"])");
  EXPECT_EQ(trace["scopes"].as_array().at(0).at("name").as_string(), "scope");
  EXPECT_EQ(boost::json::serialize(trace["scopes"].as_array().at(0).at("cut_attributes")), R"(["long"])");
  EXPECT_EQ(trace["resources"].as_array().size(), 1u);
}

// Agents add it to every process; it differs from process.pid only in a pid namespace.
TEST(TraceJson, AProcessIdIsNotShownTwice) {
  testing::SampleStore store;
  const auto attributes_with = [&](uint64_t trace, int64_t node_pid) {
    const AttributeView resource[] = {{"process.pid", ValueView::of_int(7)},
                                      {"fathom.process.id", ValueView::of_int(node_pid)},
                                      {"fathom.node.id", ValueView::of_string("0d")}};
    store.add({.trace_id = testing::sample_trace_id(trace), .span_id = testing::sample_span_id(1), .name = "work"},
              resource);
    store::QueryBudget budget;
    const auto document = run_trace(store, testing::sample_trace_id(trace), budget);
    EXPECT_TRUE(document.ok());
    const boost::json::value shown = boost::json::parse(document.ok() ? *document : R"({"resources":[{}]})");
    return boost::json::serialize(shown.at("resources").as_array().at(0).at("attributes"));
  };
  EXPECT_EQ(attributes_with(80, 7), R"({"process.pid":7,"fathom.node.id":"0d"})");
  EXPECT_EQ(attributes_with(81, 5000), R"({"process.pid":7,"fathom.process.id":5000,"fathom.node.id":"0d"})");
}

TEST(TraceJson, AWideTraceIsValidAndBounded) {
  testing::SampleStore store;
  store::BatchBuilder builder;
  store::SpanView span{.trace_id = testing::sample_trace_id(77), .name = "leaf"};
  for (uint64_t n = 1; n <= 10'000; ++n) {
    std::memcpy(span.span_id.bytes.data(), &n, 8);
    builder.add(span);
  }
  store.append(builder.finish(), [](store::AppendResult) {});
  store::QueryBudget budget;
  auto document = run_trace(store, span.trace_id, budget);
  ASSERT_TRUE(document.ok());
  EXPECT_EQ(boost::json::parse(*document).at("spans").as_array().size(), 10'000u);
  store::QueryBudget small(UINT64_MAX, budget.spent_bytes() / 2);
  EXPECT_EQ(run_trace(store, span.trace_id, small).error().code, ErrorCode::kExhausted);
}

// 100 spans with two events each; all have the same 16 KiB in 20 attributes.
void add_long_trace(store::SpanStore& store) {
  const std::string value(16 * 1024, 'v');
  std::vector<std::string> keys;
  for (int i = 0; i < 20; ++i) keys.push_back("key" + std::to_string(i));
  std::vector<AttributeView> attributes;
  for (const std::string& key : keys) attributes.push_back({key, ValueView::of_string(value)});
  const store::EventView events[] = {{12, "one", attributes, 0}, {13, "two", {}, 0}};
  store::BatchBuilder builder;
  store::SpanView span{
      .trace_id = testing::sample_trace_id(78), .name = "leaf", .attributes = attributes, .events = events};
  for (uint64_t n = 1; n <= 100; ++n) {
    const std::string service = "s" + std::to_string(n % 3);
    const AttributeView resource[] = {{"service.name", ValueView::of_string(service)}};
    builder.set_resource({resource});
    std::memcpy(span.span_id.bytes.data(), &n, 8);
    builder.add(span);
  }
  store.append(builder.finish(), [](store::AppendResult) {});
}

TEST(TraceText, PiecesOfAnySizeAreTheWholeDocument) {
  testing::SampleStore store;
  add_long_trace(store);
  store::QueryBudget budget;
  const auto whole = run_trace(store, testing::sample_trace_id(78), budget);
  ASSERT_TRUE(whole.ok());
  EXPECT_GT(whole->size(), 60u << 20);
  EXPECT_EQ(boost::json::parse(*whole).at("resources").as_array().size(), 3u);
  for (size_t enough : {size_t{1}, size_t{1} << 20}) {
    auto text = TraceText::open(store, testing::sample_trace_id(78), budget);
    ASSERT_TRUE(text.ok());
    size_t at = 0;
    while (!(*text)->is_complete()) {
      const std::string piece = (*text)->next(enough);
      EXPECT_LE(piece.size(), enough + (400u << 10));  // one list of attributes
      ASSERT_EQ(whole->compare(at, piece.size(), piece), 0);
      at += piece.size();
    }
    EXPECT_EQ(at, whole->size());
  }
}

// The document as a whole is refused by a budget that its pieces do not need.
TEST(TraceText, PiecesNeedTheMemoryOfTheTraceNotOfItsText) {
  testing::SampleStore store;
  add_long_trace(store);
  constexpr uint64_t kEnough = 100 << 20;  // the model charges each span for all it says: 63 MiB
  store::QueryBudget small(UINT64_MAX, kEnough);
  EXPECT_EQ(run_trace(store, testing::sample_trace_id(78), small).error().code, ErrorCode::kExhausted);
  store::QueryBudget budget(UINT64_MAX, kEnough);
  auto text = TraceText::open(store, testing::sample_trace_id(78), budget);
  ASSERT_TRUE(text.ok()) << text.error().message;
  EXPECT_GT((*text)->held_bytes(), 0u);
  text->reset();
  EXPECT_EQ(budget.held_bytes(), 0u);
}

}  // namespace
}  // namespace fathom::query

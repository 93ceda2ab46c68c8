#include "query/attribute_values.h"

#include <gtest/gtest.h>

#include "base/time.h"
#include "query/testing/sample_store.h"

namespace fathom::query {
namespace {

using testing::kAfterSample;

void add_span(testing::SampleStore& store, uint64_t n, const std::string& service, const std::string& tier) {
  store::AttributeView own[] = {{"tier", store::ValueView::of_string(tier)}, {"n", store::ValueView::of_int(7)}};
  store::AttributeView resource[] = {{"service.name", store::ValueView::of_string(service)},
                                     {"tier", store::ValueView::of_string("all")}};
  store::SpanView span;
  span.name = "pay";
  span.trace_id = testing::sample_trace_id(1000 + n);
  span.span_id = testing::sample_span_id(1);
  span.start_unix_nano = kAfterSample + n * kNanosPerSecond;
  span.end_unix_nano = span.start_unix_nano + testing::kMilli;
  span.attributes = own;
  store.add(span, resource);
}

std::vector<store::ValueCount> ask_values(const std::string& key, std::optional<std::string> service, size_t limit = 10,
                                          const std::string& prefix = "") {
  testing::SampleStore store;
  for (uint64_t n = 0; n < 60; ++n) add_span(store, n, "checkout", n % 3 == 0 ? "gold" : "lead");
  for (uint64_t n = 60; n < 80; ++n) add_span(store, n, "search", "iron");
  store::QueryBudget budget;
  auto values =
      run_values(store, {{kAfterSample, kAfterSample + kNanosPerHour}, key, std::move(service), prefix, limit}, budget);
  EXPECT_TRUE(values.ok());
  EXPECT_FALSE(values && values->estimated) << "all were looked at";
  return values ? values->values : std::vector<store::ValueCount>();
}

std::string text(const std::vector<store::ValueCount>& values) {
  std::string out;
  for (const auto& [value, spans] : values) out += value + "=" + std::to_string(spans) + " ";
  return out;
}

TEST(AttributeValues, OfOneServiceAreThoseOfItsSpansAndResources) {
  EXPECT_EQ(text(ask_values("tier", "checkout")), "all=60 lead=40 gold=20 ");
  EXPECT_EQ(text(ask_values("tier", "search")), "all=20 iron=20 ");
  EXPECT_EQ(text(ask_values("n", "search")), "7=20 ");
  EXPECT_EQ(text(ask_values("tier", "checkout", 1)), "all=60 ");
  EXPECT_EQ(text(ask_values("tier", "nobody")), "");
  EXPECT_EQ(text(ask_values("no.such.key", "checkout")), "");
}

TEST(AttributeValues, ThatContainWhatSomebodyTypes) {
  for (const auto& service : {std::optional<std::string>("checkout"), std::optional<std::string>()}) {
    EXPECT_EQ(text(ask_values("tier", service, 1, "LEA")), "lead=40 ");
    EXPECT_EQ(text(ask_values("tier", service, 10, "l")).substr(0, 4), "all=");
    EXPECT_EQ(text(ask_values("tier", service, 10, "old")), "gold=20 ");
    EXPECT_EQ(text(ask_values("tier", service, 10, "golden")), "");
  }
}

TEST(AttributeValues, OfASampleAreEstimated) {
  testing::SampleStore store;
  for (uint64_t n = 0; n < 5001; ++n) add_span(store, n % 1000, n < 5000 ? "checkout" : "search", std::to_string(n));
  store::QueryBudget budget;
  const auto estimated = [&](const std::string& service) {
    return run_values(store, {{kAfterSample, UINT64_MAX}, "tier", service, "", 1}, budget)->estimated;
  };
  EXPECT_FALSE(estimated("search"));
  EXPECT_FALSE(estimated("checkout"));
  add_span(store, 1, "checkout", "one more");
  EXPECT_TRUE(estimated("checkout"));
}

TEST(AttributeValues, OfAllServicesAreTheStores) {
  EXPECT_EQ(text(ask_values("tier", std::nullopt)), "all=80 lead=40 gold=20 iron=20 ");
}

}  // namespace
}  // namespace fathom::query

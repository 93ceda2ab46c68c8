#include "store/batch.h"

#include <random>

#include <gtest/gtest.h>

namespace fathom::store {
namespace {

SpanId span_id(uint8_t n) {
  SpanId id;
  id.bytes[7] = n;
  return id;
}

SpanView small_span(uint8_t n) {
  SpanView span;
  span.trace_id.bytes[15] = 1;
  span.span_id = span_id(n);
  span.start_unix_nano = 1000;
  span.end_unix_nano = 1500;
  span.name = "GET /";
  return span;
}

TEST(Batch, RoundTripsEveryField) {
  AttributeView attributes[] = {{"s", ValueView::of_string("text")},
                                {"i", ValueView::of_int(-5)},
                                {"b", ValueView::of_bool(true)},
                                {"d", ValueView::of_double(-0.5)},
                                {"s", {ValueType::kBytes, std::string_view("\0x", 2), 0}},
                                {"", {}}};
  EventView events[] = {{999, "early", attributes, 3}, {1200, "", {}, 0}};
  LinkView links[] = {{TraceId{{1}}, span_id(9), "a=b", std::span(attributes).first(1), 2, 7}};
  AttributeView resource_attributes[] = {{"service.name", ValueView::of_string("shop")}};
  SpanView span = small_span(2);
  span.parent_span_id = span_id(1);
  span.end_unix_nano = 10;  // before its start
  span.kind = SpanKind::kClient;
  span.status = StatusCode::kError;
  span.status_message = "broken";
  span.trace_state = "k=v";
  span.flags = 0x101;
  span.attributes = attributes;
  span.events = events;
  span.links = links;
  span.dropped_attributes_count = 1;
  span.dropped_events_count = 2;
  span.dropped_links_count = 4'000'000'000;

  BatchBuilder builder({}, ClockOffset{-7, 3});
  builder.set_resource({resource_attributes, "schema", 5});
  builder.set_scope({"scope", "1", attributes, "scope schema", 6});
  builder.add(span);
  BatchPtr batch = builder.finish();

  ASSERT_EQ(batch->rows().size(), 1u);
  Batch::Scratch scratch;
  const Batch::Row& row = batch->rows()[0];
  SpanView read = batch->span(row, scratch);
  EXPECT_EQ(content_hash(read, batch->resource(row.resource), batch->scope(row.scope), batch->clock()),
            content_hash(span, {resource_attributes, "schema", 5}, {"scope", "1", attributes, "scope schema", 6},
                         ClockOffset{-7, 3}));
  EXPECT_EQ(read.end_unix_nano, 10u);
  EXPECT_EQ(read.duration_nano(), 0u);
  EXPECT_EQ(read.dropped_links_count, 4'000'000'000u);
  ASSERT_EQ(read.attributes.size(), 6u);
  EXPECT_EQ(read.attributes[4].value.text, std::string_view("\0x", 2));
  ASSERT_EQ(read.events.size(), 2u);
  EXPECT_EQ(read.events[0].time_unix_nano, 999u);
  EXPECT_EQ(read.events[0].attributes.size(), 6u);
  EXPECT_EQ(read.links[0].attributes.size(), 1u);
  EXPECT_EQ(service_name(batch->resource(0)), "shop");
}

TEST(Batch, KeepsResourceAndScopeOverFinish) {
  BatchBuilder builder;
  {
    std::string name = "x";  // as short as an inline string
    AttributeView attribute{"service.name", ValueView::of_string(name)};
    builder.set_resource({{&attribute, 1}, "", 0});
    builder.set_scope({name, "", {}, "", 0});
  }
  for (uint8_t n = 1; n < 3; ++n) {
    builder.add(small_span(n));
    BatchPtr batch = builder.finish();
    EXPECT_EQ(service_name(batch->resource(0)), "x");
    EXPECT_EQ(batch->scope(0).name, "x");
    EXPECT_TRUE(builder.empty());
  }
}

TEST(Batch, SameContentHasSameIdentity) {
  auto build = [](uint8_t n) {
    BatchBuilder builder;
    builder.add(small_span(n));
    return builder.finish()->identity();
  };
  EXPECT_EQ(build(1), build(1));
  EXPECT_NE(build(1), build(2));
}

TEST(Batch, AGivenIdentityOverridesTheContent) {
  auto build = [](uint8_t n, std::optional<ClockOffset> clock, std::optional<Hash128> name) {
    BatchBuilder builder({}, clock, name);
    builder.add(small_span(n));
    return builder.finish();
  };
  const Hash128 name{1, 2};
  BatchPtr one = build(1, ClockOffset{5, 6}, name);
  EXPECT_EQ(one->identity(), build(2, std::nullopt, name)->identity());
  EXPECT_NE(one->identity(), name) << "or a sender could choose another's identity";
  EXPECT_NE(one->identity(), build(1, ClockOffset{5, 6}, Hash128{1, 3})->identity());
  EXPECT_NE(one->identity(), build(1, ClockOffset{5, 6}, std::nullopt)->identity());
  EXPECT_EQ(one->clock(), (ClockOffset{5, 6}));
  EXPECT_EQ(one->encoded()[0], 2);
  Result<BatchPtr> again = Batch::parse(one->encoded());
  ASSERT_TRUE(again.ok());
  EXPECT_EQ((*again)->identity(), one->identity());
  EXPECT_EQ((*again)->rows().size(), 1u);
}

TEST(Batch, WithoutAGivenIdentityTheBytesAreThoseOfVersionOne) {
  BatchBuilder builder;
  builder.add(small_span(1));
  EXPECT_EQ(builder.finish()->encoded().substr(0, 2), std::string("\x01\x00", 2));
}

TEST(Batch, ManyBatchesOfOneIdentityHaveNamesThatRepeat) {
  auto identities = [] {
    BatchBuilder builder({}, std::nullopt, Hash128{7, 7});
    std::vector<Hash128> names;
    for (uint8_t n = 1; n < 4; ++n) {
      builder.add(small_span(n));
      names.push_back(builder.finish()->identity());
    }
    return names;
  };
  std::vector<Hash128> names = identities();
  EXPECT_EQ(names, identities());
  EXPECT_NE(names[0], names[1]);
  EXPECT_NE(names[1], names[2]);
}

TEST(Batch, AVersionAndItsFlagsMustAgree) {
  for (std::optional<Hash128> name : {std::optional<Hash128>(), std::optional(Hash128{1, 1})}) {
    BatchBuilder builder({}, std::nullopt, name);
    builder.add(small_span(1));
    std::string encoded = builder.finish()->encoded();
    for (char version : {1, 2, 3}) {
      std::string changed = encoded;
      changed[0] = version;
      EXPECT_EQ(Batch::parse(changed).ok(), version == encoded[0]);
    }
  }
}

TEST(Batch, AppliesAndCountsLimits) {
  std::vector<AttributeView> many(5, {"key", ValueView::of_string("0123456789")});
  std::vector<EventView> events(4);
  SpanView span = small_span(1);
  span.attributes = many;
  span.events = events;
  span.name = "h\xc3\xa9h\xc3\xa9";  // cutting at 5 bytes would split the second é
  BatchLimits limits;
  limits.attributes_per_span = 3;
  limits.bytes_per_value = 4;
  limits.bytes_per_name = 5;
  limits.events_per_span = 1;
  BatchBuilder builder(limits);
  builder.add(span);
  BatchPtr batch = builder.finish();
  Batch::Scratch scratch;
  SpanView read = batch->span(batch->rows()[0], scratch);
  EXPECT_EQ(read.attributes.size(), 3u);
  EXPECT_EQ(read.dropped_attributes_count, 2u);
  EXPECT_EQ(read.attributes[0].value.type, ValueType::kCut);
  EXPECT_EQ(read.attributes[0].value.text, "0123");
  EXPECT_EQ(read.name, "h\xc3\xa9h");
  EXPECT_EQ(read.events.size(), 1u);
  EXPECT_EQ(read.dropped_events_count, 3u);
  EXPECT_EQ(builder.limited().attributes_dropped, 2u);
  EXPECT_EQ(builder.limited().values_cut, 3u);
  EXPECT_EQ(builder.limited().names_cut, 1u);
  EXPECT_EQ(builder.limited().events_dropped, 3u);
}

TEST(Batch, RefusesDamagedBytes) {
  BatchBuilder builder;
  AttributeView attribute{"key", ValueView::of_string("value")};
  SpanView span = small_span(1);
  span.attributes = {&attribute, 1};
  builder.add(span);
  std::string encoded = builder.finish()->encoded();
  for (size_t size = 0; size < encoded.size(); ++size) EXPECT_FALSE(Batch::parse(encoded.substr(0, size)).ok());
  EXPECT_FALSE(Batch::parse(encoded + "x").ok());
  std::mt19937 random(1);
  for (int i = 0; i < 20'000; ++i) {
    std::string damaged = encoded;
    damaged[random() % damaged.size()] = static_cast<char>(random());
    if (Result<BatchPtr> batch = Batch::parse(damaged); batch.ok()) {
      for (const Batch::Row& row : (*batch)->rows()) (*batch)->content_hash(row);
    }
  }
}

}  // namespace
}  // namespace fathom::store

#include "node-agent/otlp/span_redactor.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "node-agent/otlp/pool_resource.h"
#include "node-agent/otlp/span_encoder.h"
#include "node-agent/testing/redaction_rules.h"
#include "node-agent/testing/scripted_pool.h"
#include "node-agent/testing/steady_clock.h"
#include "otlp/trace_service.pb.h"

namespace fathom::agent {
namespace {

using opentelemetry::proto::collector::trace::v1::ExportTraceServiceRequest;
using opentelemetry::proto::trace::v1::Span;
using testing::hash_of;
using testing::Items;
using testing::make_record;
using testing::redaction_of;

class SpanRedactorTest : public ::testing::Test {
 protected:
  SpanRedactorTest() { clock_.update(); }

  Span encoded(const std::string& record, std::shared_ptr<const Redaction> rules) {
    encoder_.redact(std::move(rules));
    encoder_.begin(pool::Clock::kMonotonic, {}, 100);
    SpanRecordView view;
    EXPECT_TRUE(read_span(record, view));
    EXPECT_TRUE(encoder_.span(view));
    ExportTraceServiceRequest request;
    EXPECT_TRUE(request.ParseFromString(encoder_.finish()));
    return request.resource_spans(0).scope_spans(0).spans(0);
  }

  testing::SteadyClock host_;
  TickClock clock_{host_};
  AgentLosses losses_;
  SpanEncoder encoder_{clock_, losses_};
};

const std::vector<std::string> kRules = {"hash key user.*", "drop key password", "mask key count",
                                         "mask value [0-9]{4}", "drop value topsecret"};

TEST_F(SpanRedactorTest, AppliesRulesToEverythingThatASpanHas) {
  const std::string trace(16, 't'), id(8, 's');
  Items items;
  items.text("user.id", "ann").text("password", "x").number("count", 7).text("note", "no 4111!").text("plain", "p");
  items.number("card", 4111).real("price", 0.5).boolean("user.new", true).text("words", "of topsecret things");
  items.add(pool::ItemTag::kAttribute, pool::ItemType::kCut, "user.name", "an");
  items.event("paid with 4111", 6000).detail("user.id", "ann").detail("password", "y").detail("note", "4111");
  items.link(trace, id, 1, "v=4111").detail("user.id", "bob");
  items.add(pool::ItemTag::kStatusMessage, pool::ItemType::kString, {}, "card 4111 declined");
  items.add(pool::ItemTag::kTraceState, pool::ItemType::kString, {}, "v=4112");
  const Span span = encoded(make_record(1, "GET /cards/4111", items.bytes(), 5000, 7000), redaction_of(kRules));
  EXPECT_EQ(span.DebugString().find("4111"), std::string::npos) << span.DebugString();
  EXPECT_EQ(span.DebugString().find("4112"), std::string::npos) << span.DebugString();
  EXPECT_EQ(span.DebugString().find("ann"), std::string::npos);
  EXPECT_EQ(span.DebugString().find("topsecret"), std::string::npos);
  EXPECT_EQ(span.name(), "GET /cards/[masked]");
  ASSERT_EQ(span.attributes_size(), 8);
  EXPECT_EQ(span.dropped_attributes_count(), 2u);
  EXPECT_EQ(span.attributes(0).value().string_value(), hash_of("ann"));
  EXPECT_EQ(span.attributes(1).key(), "count");
  EXPECT_EQ(span.attributes(1).value().string_value(), "[masked]");
  EXPECT_EQ(span.attributes(2).value().string_value(), "no [masked]!");
  EXPECT_EQ(span.attributes(3).value().string_value(), "p");
  EXPECT_EQ(span.attributes(4).value().string_value(), "[masked]");
  EXPECT_EQ(span.attributes(5).value().double_value(), 0.5);
  EXPECT_EQ(span.attributes(6).value().string_value(), hash_of("true"));
  EXPECT_EQ(span.attributes(7).value().string_value(), hash_of("an"));
  EXPECT_TRUE(span.attributes(7).value().fathom_cut()) << "the hash is of what there was";
  ASSERT_EQ(span.events_size(), 1);
  EXPECT_EQ(span.events(0).name(), "paid with [masked]");
  ASSERT_EQ(span.events(0).attributes_size(), 2);
  EXPECT_EQ(span.events(0).attributes(0).value().string_value(), hash_of("ann")) << "equal values, equal hashes";
  ASSERT_EQ(span.links_size(), 1);
  EXPECT_EQ(span.links(0).trace_id(), trace);
  EXPECT_EQ(span.links(0).trace_state(), "v=[masked]");
  EXPECT_EQ(span.links(0).attributes(0).value().string_value(), hash_of("bob"));
  EXPECT_EQ(span.status().message(), "card [masked] declined");
  EXPECT_EQ(span.trace_state(), "v=[masked]");
}

TEST_F(SpanRedactorTest, WithoutRulesNothingChanges) {
  Items items;
  items.text("user.id", "ann").number("card", 4111);
  const std::string record = make_record(1, "GET /cards/4111", items.bytes());
  const Span span = encoded(record, nullptr);
  EXPECT_EQ(span.name(), "GET /cards/4111");
  EXPECT_EQ(span.attributes(1).value().int_value(), 4111);
  EXPECT_EQ(encoded(record, redaction_of({"drop key other"})).SerializeAsString(), span.SerializeAsString());
  EXPECT_EQ(encoded(record, redaction_of({"drop key other"})).dropped_attributes_count(), 0u);
}

TEST_F(SpanRedactorTest, MalformedItemsAreCountedAsWithoutRules) {
  Items items;
  items.text("k", "v").add(pool::ItemTag::kAttribute, pool::ItemType::kInt, "k", "short");
  items.add(pool::ItemTag{99}, pool::ItemType::kString, "k", "v").detail("k", "v");
  for (const std::string& bytes : {items.bytes(), items.bytes() + "\1\1", items.bytes().substr(0, 40)}) {
    const uint64_t before = losses_.malformed_items.value();
    encoded(make_record(1, "work", bytes), nullptr);
    const uint64_t without = losses_.malformed_items.value() - before;
    encoded(make_record(1, "work", bytes), redaction_of(kRules));
    EXPECT_EQ(losses_.malformed_items.value() - before, 2 * without);
  }
}

// A record of many short values grows to several times its length.
TEST_F(SpanRedactorTest, ARecordThatNoLongerFitsLosesItsEndAndSaysSo) {
  Items items;
  size_t many = 0;
  for (; items.bytes().size() < pool::kMostRecordBytes - sizeof(pool::SpanRecord) - 60; ++many)
    items.boolean("k", true);
  items.event("e", 6000).detail("x", "y");
  const std::string record = make_record(1, "work", items.bytes());
  ASSERT_LE(record.size(), pool::kMostRecordBytes);
  const Span span = encoded(record, redaction_of({"hash key k"}));
  EXPECT_GT(span.attributes_size(), 100);
  EXPECT_EQ(static_cast<size_t>(span.attributes_size()) + span.dropped_attributes_count(), many + 1)
      << "with the event's";
  EXPECT_EQ(span.events_size(), 0);
  EXPECT_EQ(span.dropped_events_count(), 1u);
  for (const auto& attribute : span.attributes()) EXPECT_EQ(attribute.value().string_value(), hash_of("true"));
}

TEST(RedactedResource, RulesApplyToTheResource) {
  std::string pairs;
  append_pair(pairs, "service.name", "shop-4111");
  append_pair(pairs, "user.id", "ann");
  append_pair(pairs, "password", "x");
  append_pair(pairs, "process.pid", "77");
  const std::string redacted = redacted_resource(pairs, *redaction_of(kRules));
  EXPECT_EQ(value_in_resource(redacted, "service.name"), "shop-[masked]");
  EXPECT_EQ(value_in_resource(redacted, "user.id"), hash_of("ann"));
  EXPECT_EQ(value_in_resource(redacted, "password"), "");
  EXPECT_EQ(value_in_resource(redacted, "process.pid"), "77");
  EXPECT_EQ(redacted_resource("\1\0\1\0kv\xff\xff", *redaction_of(kRules)).size(), 0u) << "lengths lie";
}

}  // namespace
}  // namespace fathom::agent

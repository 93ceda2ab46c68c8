#include "node-agent/otlp/span_encoder.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "base/process_attributes.h"
#include "base/span_threads.h"
#include "node-agent/testing/scripted_pool.h"
#include "node-agent/testing/steady_clock.h"
#include "otlp/trace_service.pb.h"

namespace fathom::agent {
namespace {

using opentelemetry::proto::collector::trace::v1::ExportTraceServiceRequest;
using opentelemetry::proto::trace::v1::Span;
using testing::Items;
using testing::make_record;
using testing::SteadyClock;

class SpanEncoderTest : public ::testing::Test {
 protected:
  SpanEncoderTest() { clock_.update(); }

  bool add(const std::string& record) {
    SpanRecordView view;
    return read_span(record, view) && encoder_.span(view);
  }
  void begin(std::string_view resource = {}) { encoder_.begin(pool::Clock::kMonotonic, resource, 100); }
  ExportTraceServiceRequest finish() {
    ExportTraceServiceRequest request;
    EXPECT_TRUE(request.ParseFromString(encoder_.finish()));
    return request;
  }
  Span one(const std::string& record) {
    begin();
    EXPECT_TRUE(add(record));
    ExportTraceServiceRequest request = finish();
    EXPECT_EQ(request.resource_spans_size(), 1);
    return request.resource_spans(0).scope_spans(0).spans(0);
  }
  uint64_t malformed_during(const std::string& items) {
    uint64_t before = losses_.malformed_items.value();
    one(make_record(1, "work", items));
    return losses_.malformed_items.value() - before;
  }

  SteadyClock host_;
  TickClock clock_{host_};
  AgentLosses losses_;
  SpanEncoder encoder_{clock_, losses_};
};

std::string edited(std::string record, void (*edit)(pool::SpanRecord&)) {
  edit(*reinterpret_cast<pool::SpanRecord*>(record.data()));
  return record;
}

TEST_F(SpanEncoderTest, KnowsHowLongAgoTheFirstSpanEnded) {
  uint64_t begun = host_.now_nano;
  begin();
  EXPECT_EQ(encoder_.oldest_age_nano(), 0u) << "of no span";
  add(make_record(1, "later", {}, 0, begun - 1000));
  add(make_record(2, "first", {}, 0, begun - 5000));
  add(make_record(3, "backwards", {}, begun - 2000, begun - 9000));
  uint64_t age = encoder_.oldest_age_nano();
  EXPECT_EQ(age, host_.now_nano - begun + 5000);
  begin();
  add(make_record(4, "another batch", {}, 0, begun - 10));
  age = encoder_.oldest_age_nano();
  EXPECT_EQ(age, host_.now_nano - begun + 10);
  begin();
  add(make_record(5, "of the future", {}, 0, host_.now_nano + 3600'000'000'000));
  EXPECT_EQ(encoder_.oldest_age_nano(), 0u);
}

TEST_F(SpanEncoderTest, WritesEveryFieldOfTheHead) {
  Span span = one(edited(make_record(12, "checkout", {}, 5000, 7500), [](pool::SpanRecord& head) {
    head.parent_span_id[7] = 9;
    head.kind = 3;
    head.status = 2;
    head.flags = 0x83;
    head.dropped_attributes = 1;
    head.dropped_events = 2;
    head.dropped_links = 65535;
  }));
  EXPECT_EQ(span.trace_id(), std::string("\2", 1) + std::string(15, '\0'));
  EXPECT_EQ(span.span_id(), std::string("\15", 1) + std::string(7, '\0'));
  EXPECT_EQ(span.parent_span_id(), std::string(7, '\0') + '\11');
  EXPECT_EQ(span.name(), "checkout");
  EXPECT_EQ(span.kind(), Span::SPAN_KIND_CLIENT);
  EXPECT_EQ(span.status().code(), 2);
  EXPECT_EQ(span.flags(), 0x303u);
  EXPECT_EQ(span.dropped_attributes_count(), 1u);
  EXPECT_EQ(span.dropped_events_count(), 2u);
  EXPECT_EQ(span.dropped_links_count(), 65535u);
  EXPECT_EQ(span.start_time_unix_nano(), SteadyClock::kOffset + 5000);
  EXPECT_EQ(span.end_time_unix_nano(), SteadyClock::kOffset + 7500);
}

TEST_F(SpanEncoderTest, ARootHasNoParentAndALocalOneIsNotRemote) {
  Span span = one(make_record(1));
  EXPECT_TRUE(span.parent_span_id().empty());
  EXPECT_EQ(span.flags(), 0x100u);
  EXPECT_FALSE(span.has_status());
}

TEST_F(SpanEncoderTest, WritesEveryTypeOfAttribute) {
  std::string long_text(3000, 'x');
  Items items;
  items.text("s", "text").number("i", -5).number("j", INT64_MAX).real("d", 2.5).boolean("t", true).boolean("f", false);
  items.text("", "").text("long", long_text).add(pool::ItemTag::kAttribute, pool::ItemType::kCut, "cut", "hal");
  Span span = one(make_record(1, "work", items.bytes()));
  ASSERT_EQ(span.attributes_size(), 9);
  EXPECT_EQ(span.attributes(0).key(), "s");
  EXPECT_EQ(span.attributes(0).value().string_value(), "text");
  EXPECT_EQ(span.attributes(1).value().int_value(), -5);
  EXPECT_EQ(span.attributes(2).value().int_value(), INT64_MAX);
  EXPECT_EQ(span.attributes(3).value().double_value(), 2.5);
  EXPECT_TRUE(span.attributes(4).value().bool_value());
  EXPECT_TRUE(span.attributes(5).value().has_bool_value());
  EXPECT_FALSE(span.attributes(5).value().bool_value());
  EXPECT_TRUE(span.attributes(6).value().has_string_value());
  EXPECT_EQ(span.attributes(7).value().string_value(), long_text);
  EXPECT_FALSE(span.attributes(7).value().fathom_cut());
  EXPECT_EQ(span.attributes(8).value().string_value(), "hal");
  EXPECT_TRUE(span.attributes(8).value().fathom_cut());
}

// A program in its own pid namespace: thread 12 is 4012 on the node; 99 ended before a look.
class SpanThreadsTest : public SpanEncoderTest {
 protected:
  using Attributes = std::map<std::string, std::string>;

  static std::optional<uint32_t> on_node(uint32_t tid) {
    return tid == 99 ? std::nullopt : std::optional<uint32_t>(tid + 4000);
  }
  Attributes attributes_of(uint32_t tid, const Items& items = {}) {
    encoder_.begin(pool::Clock::kMonotonic, {}, 100, on_node);
    const std::string record = make_record(1, "work", items.bytes());
    SpanRecordView view;
    EXPECT_TRUE(read_span(record, view));
    view.tid = tid;
    EXPECT_TRUE(encoder_.span(view));
    Attributes all;
    const auto request = finish();
    for (const auto& attribute : request.resource_spans(0).scope_spans(0).spans(0).attributes()) {
      const auto& value = attribute.value();
      const std::string text = value.has_int_value() ? std::to_string(value.int_value()) : value.string_value();
      EXPECT_TRUE(all.emplace(attribute.key(), text).second) << "twice";
    }
    return all;
  }
  uint64_t unknown() const { return counter("fathom_agent_unknown_threads_total", "").value(); }

  const std::string id_{kThreadId};
  const std::string start_{kStartThreadId};
};

TEST_F(SpanThreadsTest, ASpanHasTheNodesNumberOfItsThread) {
  EXPECT_EQ(attributes_of(12, Items().text("k", "v")), (Attributes{{"k", "v"}, {id_, "4012"}}));
  EXPECT_EQ(attributes_of(13), (Attributes{{id_, "4013"}}));
}

TEST_F(SpanThreadsTest, TheThreadThatItStartedOnIsTranslatedToo) {
  EXPECT_EQ(attributes_of(12, Items().number(start_, 7)), (Attributes{{start_, "4007"}, {id_, "4012"}}));
}

// A program may record spans for a thread other than the one that ends them.
TEST_F(SpanThreadsTest, WhatTheProgramSaysStands) {
  EXPECT_EQ(attributes_of(12, Items().number(id_, 8)), (Attributes{{id_, "4008"}}));
  EXPECT_EQ(attributes_of(12, Items().text(id_, "pool-1")), (Attributes{{id_, "pool-1"}}));
  EXPECT_EQ(attributes_of(12, Items().number("thread.id", 8)), (Attributes{{"thread.id", "8"}, {id_, "4012"}}))
      << "thread.id is a number of the runtime";
}

TEST_F(SpanThreadsTest, AThreadWithoutANumberIsCounted) {
  const uint64_t before = unknown();
  EXPECT_EQ(attributes_of(99), Attributes{});
  EXPECT_EQ(attributes_of(0), Attributes{}) << "the chunk has no thread";
  EXPECT_EQ(attributes_of(UINT32_MAX), Attributes{}) << "the kernel gives no such number";
  EXPECT_EQ(attributes_of(12, Items().number(start_, int64_t{1} << 40)), (Attributes{{id_, "4012"}}));
  EXPECT_EQ(unknown(), before + 4);
}

TEST_F(SpanEncoderTest, DetailsGoToTheirEventOrLink) {
  std::string trace(16, 't');
  std::string id(8, 's');
  Items items;
  items.event("retry", 6000).detail("a", "1").text("between", "x").detail("b", "2");
  items.link(trace, id, 0x81, "k=v").detail("c", "3").event("bare", 6500);
  items.add(pool::ItemTag::kStatusMessage, pool::ItemType::kString, {}, "refused");
  items.add(pool::ItemTag::kTraceState, pool::ItemType::kString, {}, "vendor=1");
  Span span = one(make_record(1, "work", items.bytes(), 5000, 7000));
  ASSERT_EQ(span.events_size(), 2);
  EXPECT_EQ(span.events(0).name(), "retry");
  EXPECT_EQ(span.events(0).time_unix_nano(), SteadyClock::kOffset + 6000);
  ASSERT_EQ(span.events(0).attributes_size(), 2);
  EXPECT_EQ(span.events(0).attributes(1).key(), "b");
  EXPECT_EQ(span.events(1).attributes_size(), 0);
  ASSERT_EQ(span.links_size(), 1);
  EXPECT_EQ(span.links(0).trace_id(), trace);
  EXPECT_EQ(span.links(0).span_id(), id);
  EXPECT_EQ(span.links(0).trace_state(), "k=v");
  EXPECT_EQ(span.links(0).flags(), 0x301u);
  EXPECT_EQ(span.links(0).attributes(0).key(), "c");
  ASSERT_EQ(span.attributes_size(), 1);
  EXPECT_EQ(span.attributes(0).key(), "between");
  EXPECT_EQ(span.status().message(), "refused");
  EXPECT_EQ(span.trace_state(), "vendor=1");
}

TEST_F(SpanEncoderTest, ASpanThatEndsBeforeItBeginsHasNoDuration) {
  Span span = one(make_record(1, "work", {}, 5000, 4990));
  EXPECT_EQ(span.start_time_unix_nano(), SteadyClock::kOffset + 5000);
  EXPECT_EQ(span.end_time_unix_nano(), SteadyClock::kOffset + 5000);
}

TEST_F(SpanEncoderTest, TicksOfTheCounterBecomeTheSameTimes) {
  encoder_.begin(pool::Clock::kTsc, {}, 0);
  EXPECT_TRUE(add(make_record(1, "work", {}, 120'000'000, 120'002'000)));
  ExportTraceServiceRequest request = finish();
  const Span& span = request.resource_spans(0).scope_spans(0).spans(0);
  EXPECT_EQ(span.start_time_unix_nano(), SteadyClock::kOffset + 60'000'000);
  EXPECT_EQ(span.end_time_unix_nano() - span.start_time_unix_nano(), 1000u);
}

TEST_F(SpanEncoderTest, SpansWithoutIdsAreNone) {
  begin();
  EXPECT_FALSE(add(edited(make_record(1), [](pool::SpanRecord& head) { head.trace_id[0] = 0; })));
  EXPECT_FALSE(add(edited(make_record(1), [](pool::SpanRecord& head) { head.span_id[0] = 0; })));
  EXPECT_TRUE(add(make_record(1)));
  EXPECT_EQ(finish().resource_spans(0).scope_spans(0).spans_size(), 1);
}

TEST_F(SpanEncoderTest, UnknownNumbersBecomeTheUnspecifiedOnes) {
  Span span = one(edited(make_record(1), [](pool::SpanRecord& head) { head.kind = 77, head.status = 99; }));
  EXPECT_EQ(span.kind(), 0);
  EXPECT_FALSE(span.has_status());
}

TEST_F(SpanEncoderTest, PartsThatMakeNoSenseAreCounted) {
  using pool::ItemTag;
  using pool::ItemType;
  EXPECT_EQ(malformed_during(Items().text("k", "v").bytes()), 0u);
  EXPECT_EQ(malformed_during(Items().add(ItemTag::kAttribute, ItemType::kInt, "k", "short").bytes()), 1u);
  EXPECT_EQ(malformed_during(Items().add(ItemTag::kAttribute, ItemType::kBool, "k", "").bytes()), 1u);
  EXPECT_EQ(malformed_during(Items().add(ItemTag::kAttribute, ItemType{99}, "k", "12345678").bytes()), 1u);
  EXPECT_EQ(malformed_during(Items().add(ItemTag{99}, ItemType::kString, "k", "v").bytes()), 1u);
  EXPECT_EQ(malformed_during(Items().add(ItemTag::kEvent, ItemType::kNone, "e", "1234567").bytes()), 1u);
  EXPECT_EQ(malformed_during(Items().add(ItemTag::kLink, ItemType::kNone, "", "too short").bytes()), 1u);
  EXPECT_EQ(malformed_during(Items().detail("k", "v").bytes()), 1u) << "nobody's";
  EXPECT_EQ(malformed_during(Items().text("k", "v").bytes() + "\1\1"), 1u) << "half a head";
  std::string lying = Items().text("k", "v").bytes();
  lying[4] = 2;  // one byte more than there is
  EXPECT_EQ(malformed_during(lying), 1u);
}

TEST_F(SpanEncoderTest, ManySpansOfAllSizesArriveWhole) {
  std::mt19937_64 random(3);
  begin(encode_resource({}));
  std::vector<std::string> names;
  for (uint64_t i = 0; i < 3000; ++i) {
    names.push_back("n" + std::string(random() % 8 == 0 ? random() % 8000 : random() % 40, 'n'));
    ASSERT_TRUE(add(make_record(i, names.back())));
  }
  ExportTraceServiceRequest request = finish();
  const auto& spans = request.resource_spans(0).scope_spans(0).spans();
  ASSERT_EQ(spans.size(), 3000);
  for (int i = 0; i < spans.size(); ++i) EXPECT_EQ(spans[i].name(), names[static_cast<size_t>(i)]);
  EXPECT_EQ(request.resource_spans(0).scope_spans(0).scope().name(), "fathom");
}

TEST_F(SpanEncoderTest, TheWorstRecordFitsItsRoom) {
  Items small;
  while (small.bytes().size() < pool::kMostRecordBytes - sizeof(pool::SpanRecord) - 40)
    small.add(pool::ItemTag::kAttribute, pool::ItemType::kString, "", "");
  Items cut;
  while (cut.bytes().size() < pool::kMostRecordBytes - sizeof(pool::SpanRecord) - 40)
    cut.add(pool::ItemTag::kAttribute, pool::ItemType::kCut, "", "");
  Items numbers;
  while (numbers.bytes().size() < pool::kMostRecordBytes - sizeof(pool::SpanRecord) - 40) numbers.number("", -1);
  Items links;
  while (links.bytes().size() < pool::kMostRecordBytes - sizeof(pool::SpanRecord) - 60)
    links.link(std::string(16, 't'), std::string(8, 's'), 1);
  for (const Items* items : {&small, &cut, &numbers, &links}) {
    std::string record = make_record(1, "w", items->bytes());
    ASSERT_LE(record.size(), pool::kMostRecordBytes);
    begin();
    ASSERT_TRUE(add(record));
    EXPECT_LT(encoder_.finish().size(), SpanEncoder::most_bytes(record.size()) + 40);
  }
}

TEST_F(SpanEncoderTest, ManyHeadsWithAllThatTheyCanHaveFitTheirRoom) {
  constexpr size_t kMany = 1000;
  encoder_.begin(pool::Clock::kMonotonic, {}, 0, [](uint32_t tid) { return std::optional(tid); });
  const std::string record = edited(make_record(1, "", {}), [](pool::SpanRecord& head) {
    head.parent_span_id[7] = 9;
    head.kind = 3;
    head.status = 2;
    head.dropped_attributes = head.dropped_events = head.dropped_links = UINT16_MAX;
  });
  for (size_t i = 0; i < kMany; ++i) {
    SpanRecordView view;
    ASSERT_TRUE(read_span(record, view));
    view.tid = 4'000'000;
    ASSERT_TRUE(encoder_.span(view));
  }
  EXPECT_LT(encoder_.finish().size(), SpanEncoder::most_bytes(kMany * record.size()));
}

TEST(EncodeResource, WritesTextsAndTheProcessAsANumber) {
  testing::ScriptedPool pool;
  pool.set_resource({{"service.name", "shop"}, {"process.pid", "4711"}, {"odd.pid", "4711"}, {"empty", ""}});
  Result<PoolFile> file = PoolFile::open(pool.descriptor(), 0);
  ASSERT_TRUE(file.ok());
  AgentLosses losses;
  PoolReader reader(*std::move(file), 1, losses);
  opentelemetry::proto::resource::v1::Resource resource;
  ASSERT_TRUE(resource.ParseFromString(encode_resource(*reader.new_resource(false))));
  ASSERT_EQ(resource.attributes_size(), 4);
  EXPECT_EQ(resource.attributes(0).key(), "service.name");
  EXPECT_EQ(resource.attributes(0).value().string_value(), "shop");
  EXPECT_EQ(resource.attributes(1).value().int_value(), 4711);
  EXPECT_EQ(resource.attributes(2).value().string_value(), "4711");
  EXPECT_TRUE(resource.attributes(3).value().has_string_value());
}

// Otherwise a program could attribute its spans to another process of the node.
TEST(EncodeResource, WhatOnlyTheAgentKnowsIsNotTakenFromThePool) {
  testing::ScriptedPool pool;
  pool.set_resource({{"fathom.process.id", "4711"}, {"service.name", "shop"}, {"fathom.node.id", "0d"}});
  Result<PoolFile> file = PoolFile::open(pool.descriptor(), 0);
  ASSERT_TRUE(file.ok());
  AgentLosses losses;
  PoolReader reader(*std::move(file), 1, losses);
  opentelemetry::proto::resource::v1::Resource resource;
  ASSERT_TRUE(resource.ParseFromString(encode_resource(*reader.new_resource(false))));
  ASSERT_EQ(resource.attributes_size(), 1);
  EXPECT_EQ(resource.attributes(0).key(), "service.name");
}

TEST(EncodeResource, TheProcessIsAddedWhereBothNumbersAreKnown) {
  NodeProcess process{.pid = 4'194'303};
  std::string bytes;
  append_process(bytes, process);
  EXPECT_EQ(bytes, "") << "of no node";
  process.node_id[0] = 0x0d;
  process.node_id[15] = 0xff;
  append_process(bytes, process);
  EXPECT_LE(bytes.size(), kMostProcessBytes);
  opentelemetry::proto::resource::v1::Resource resource;
  ASSERT_TRUE(resource.ParseFromString(bytes));
  ASSERT_EQ(resource.attributes_size(), 2);
  EXPECT_EQ(resource.attributes(0).key(), kProcessIdAttribute);
  EXPECT_EQ(resource.attributes(0).value().int_value(), 4'194'303);
  EXPECT_EQ(resource.attributes(1).key(), kNodeIdAttribute);
  EXPECT_EQ(resource.attributes(1).value().string_value(), "0d0000000000000000000000000000ff");
  bytes.clear();
  append_process(bytes, {.node_id = process.node_id});
  EXPECT_EQ(bytes, "") << "of no process";
}

TEST(EncodeResource, EndsWhereLengthsLie) {
  std::string text("\1\0\1\0kv\xff\xff\1\0rest", 14);
  opentelemetry::proto::resource::v1::Resource resource;
  ASSERT_TRUE(resource.ParseFromString(encode_resource(text)));
  EXPECT_EQ(resource.attributes_size(), 1);
  EXPECT_EQ(encode_resource("abc"), "");
}

}  // namespace
}  // namespace fathom::agent

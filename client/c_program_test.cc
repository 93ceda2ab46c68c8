// What the C interface leaves in the pools of a C program: its spans, events, and the trigger.
#include <fathom/trace_c.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "client/testing/child_program.h"
#include "client/testing/detail_reader.h"
#include "client/testing/fake_agent.h"
#include "client/testing/open_reader.h"
#include "client/testing/pool_reader.h"

namespace fathom::client {
namespace {

using pool::FieldType;
using pool::ItemTag;
using testing::DetailReader;
using testing::kAgentTimeoutMs;
using testing::Offered;
using testing::PoolReader;
using testing::ReadEvent;
using testing::ReadSpan;

const std::string kRemoteSpan = "b7ad6b7169203331";

using Typed = std::pair<FieldType, std::string>;
std::map<std::string, Typed> typed(const ReadEvent& event) {
  std::map<std::string, Typed> all;
  for (const auto& field : event.fields) all[field.key] = {static_cast<FieldType>(field.type), field.value};
  return all;
}

// It is run, and gone; its pools are what it has offered.
class CProgram : public ::testing::Test {
 protected:
  void SetUp() override {
    testing::FakeAgent agent;
    testing::ChildProgram program({FATHOM_PROGRAMS "/client_c_program"}, {"FATHOM_AGENT_SOCKET=" + agent.path()});
    EXPECT_EQ(program.wait(), 0);
    while (!span_pool_ || !detail_pool_) {
      auto offered = agent.accept(kAgentTimeoutMs);
      ASSERT_TRUE(offered.has_value());
      auto& pool = offered->offer.magic == pool::kDetailOfferMagic ? detail_pool_ : span_pool_;
      pool = std::move(offered);
    }
    PoolReader reader = PoolReader::of_file(span_pool_->pool.get());
    for (ReadSpan& span : reader.take(testing::Writer::kDead)) spans_[span.name] = std::move(span);
    EXPECT_TRUE(reader.faults().empty());
    DetailReader detail = DetailReader::of_file(detail_pool_->pool.get());
    std::vector<ReadEvent> events = detail.events();
    std::sort(events.begin(), events.end(), [](const auto& a, const auto& b) { return a.ticks < b.ticks; });
    for (ReadEvent& event : events) events_[event.name].push_back(std::move(event));
    EXPECT_TRUE(detail.faults().empty());
  }

  std::optional<Offered> span_pool_, detail_pool_;
  std::map<std::string, ReadSpan> spans_;
  std::map<std::string, std::vector<ReadEvent>> events_;
};

TEST_F(CProgram, ItsEventsHaveTheTypesAndValuesThatItGave) {
  EXPECT_EQ(events_.count("c.off"), 0U);
  EXPECT_EQ(events_["c.none"].size(), 100U);
  ASSERT_EQ(events_["c.small"].size(), 100U);
  ASSERT_EQ(events_["c.large"].size(), 100U);
  ASSERT_EQ(events_["c.long"].size(), 100U);
  EXPECT_EQ(typed(events_["c.small"][42]),
            (std::map<std::string, Typed>{{"bool", {FieldType::kBool, "1"}},
                                          {"char", {FieldType::kInt8, "120"}},
                                          {"short", {FieldType::kInt16, "-30000"}},
                                          {"uchar", {FieldType::kUint8, "200"}},
                                          {"ushort", {FieldType::kUint16, "60000"}},
                                          {"int", {FieldType::kInt32, "-42"}},
                                          {"unsigned", {FieldType::kUint32, "4000000000"}},
                                          {"float", {FieldType::kFloat, "0.500000"}}}));
  EXPECT_EQ(typed(events_["c.large"][42]),
            (std::map<std::string, Typed>{{"long", {FieldType::kInt64, "-7000000000"}},
                                          {"ulong", {FieldType::kUint64, "18000000000000000000"}},
                                          {"llong", {FieldType::kInt64, "-9000000000"}},
                                          {"ullong", {FieldType::kUint64, "18000000000000000001"}},
                                          {"double", {FieldType::kDouble, "2.500000"}},
                                          {"words", {FieldType::kString, "words"}},
                                          {"text", {FieldType::kString, "text"}},
                                          {"bytes", {FieldType::kBytes, std::string("\0\1", 2)}}}));
  EXPECT_EQ(typed(events_["c.long"][42]),
            (std::map<std::string, Typed>{{"schar", {FieldType::kInt8, "-3"}},
                                          {"chars", {FieldType::kString, std::string(300, 'm')}},
                                          {"after", {FieldType::kInt32, "9"}}}));
}

TEST_F(CProgram, ItsEventsBelongToWhatItServed) {
  ASSERT_EQ(events_["c.served"].size(), 1U);
  ASSERT_EQ(events_["c.in.span"].size(), 1U);
  EXPECT_EQ(events_["c.served"][0].spans, (std::vector<std::string>{kRemoteSpan, spans_["renamed"].span_id}));
  EXPECT_EQ(events_["c.in.span"][0].spans, std::vector<std::string>{spans_["outer"].span_id});
  EXPECT_EQ(events_["c.none"][99].spans, std::vector<std::string>{});
}

TEST_F(CProgram, ItsTriggerSaysWhyAndWhere) {
  const PoolReader pool = PoolReader::of_file(span_pool_->pool.get());
  const auto notes = testing::OpenReader(reinterpret_cast<const char*>(&pool.header())).notes();
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_EQ(notes[0].reason, "c asks");
  EXPECT_EQ(notes[0].span_id, spans_["outer"].span_id);
}

TEST_F(CProgram, ItsSpansHaveWhatItToldThem) {
  ASSERT_EQ(spans_.size(), 2U);
  const ReadSpan &outer = spans_["outer"], &inner = spans_["renamed"];
  EXPECT_EQ(outer.parent_span_id, kRemoteSpan);
  EXPECT_EQ(outer.kind, FATHOM_SERVER);
  EXPECT_EQ(inner.parent_span_id, outer.span_id);
  EXPECT_EQ(inner.kind, FATHOM_CLIENT);
  EXPECT_EQ(inner.status, FATHOM_ERROR);
  EXPECT_EQ(inner.attribute("tenant"), "acme");
  EXPECT_EQ(inner.attribute("items"), "3");
  EXPECT_EQ(inner.attribute("price"), "2.500000");
  EXPECT_EQ(inner.attribute("paid"), "true");
}

TEST_F(CProgram, ItsSpanHasAnEventWithDetailsALinkAndAMessage) {
  std::vector<std::string> items;
  for (const testing::ReadItem& item : spans_["renamed"].items) {
    const bool has_bytes = item.tag == ItemTag::kEvent || item.tag == ItemTag::kLink;
    const std::string value = has_bytes ? "" : "=" + (item.tag == ItemTag::kTraceState ? item.value : value_text(item));
    if (item.tag != ItemTag::kAttribute) items.push_back(item.key + value);
  }
  EXPECT_EQ(items, (std::vector<std::string>{"=a=1", "retry", "why=timeout", "attempt=2", "after=0.250000",
                                             "last=false", "a=1", "=card refused"}));
}

}  // namespace
}  // namespace fathom::client

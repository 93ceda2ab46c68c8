#include <fathom/trace.h>
#include <gtest/gtest.h>

#include <thread>

#include "client/process.h"
#include "client/span_state.h"
#include "client/testing/own_spans.h"

namespace fathom::client {
namespace {

using pool::ItemTag;
using pool::ItemType;
using testing::ReadItem;
using testing::ReadSpan;
using Spans = testing::OwnSpans;

TEST_F(Spans, ARootSaysWhatItWasTold) {
  const uint64_t before = ticks();
  {
    Span span("checkout", Kind::kServer);
    span.set("items", 3).set("tenant", "acme").set("price", 2.5).set("paid", true).set("", "no key");
    span.error("card refused");
  }
  const ReadSpan span = take_one();
  EXPECT_EQ(span.name, "checkout");
  EXPECT_EQ(span.kind, FATHOM_SERVER);
  EXPECT_EQ(span.status, FATHOM_ERROR);
  EXPECT_EQ(span.flags, 3);
  EXPECT_EQ(span.parent_span_id, "");
  EXPECT_NE(span.trace_id, std::string(32, '0'));
  EXPECT_NE(span.span_id, std::string(16, '0'));
  EXPECT_GE(span.start_ticks, before);
  EXPECT_GE(span.end_ticks, span.start_ticks);
  EXPECT_EQ(span.attribute("items"), "3");
  EXPECT_EQ(span.attribute("tenant"), "acme");
  EXPECT_EQ(span.attribute("price"), "2.500000");
  EXPECT_EQ(span.attribute("paid"), "true");
  EXPECT_EQ(span.find(ItemTag::kAttribute, "items")->type, ItemType::kInt);
  EXPECT_EQ(value_text(*span.find(ItemTag::kStatusMessage, "")), "card refused");
  EXPECT_EQ(span.dropped_attributes, 1) << "an attribute without a key is none";
}

TEST_F(Spans, ChildrenFollowTheActiveSpan) {
  Context outer_context;
  {
    Span outer("outer");
    outer_context = outer.context();
    { Span inner("inner"); }
    DetachedSpan detached("detached");
    { Span second("second"); }
    {
      const Activation active(detached);
      const Span third("third");
    }
    const Span other_trace("root", std::nullopt);
  }
  const std::vector<ReadSpan> spans = take();
  std::map<std::string, ReadSpan> by_name;
  for (const ReadSpan& span : spans) by_name[span.name] = span;
  ASSERT_EQ(by_name.size(), 6U);
  const std::string outer_id = by_name["outer"].span_id;
  EXPECT_EQ(by_name["inner"].parent_span_id, outer_id);
  EXPECT_EQ(by_name["second"].parent_span_id, outer_id) << "a detached span is not active by itself";
  EXPECT_EQ(by_name["third"].parent_span_id, by_name["detached"].span_id);
  EXPECT_EQ(by_name["inner"].trace_id, by_name["outer"].trace_id);
  EXPECT_EQ(by_name["root"].parent_span_id, "");
  EXPECT_NE(by_name["root"].trace_id, by_name["outer"].trace_id);
  EXPECT_EQ(outer_context.traceparent(), "00-" + by_name["outer"].trace_id + "-" + outer_id + "-03");
  EXPECT_FALSE(Context::active().has_value());
}

TEST_F(Spans, ActiveSpansMayEndInAnyOrder) {
  fathom_span a, b, c;
  for (fathom_span* span : {&a, &b, &c}) {
    fathom_span_start_here(span, {"x", 1}, FATHOM_INTERNAL);
    fathom_span_activate(span);
  }
  fathom_context active, expected;
  fathom_span_context(&c, &expected);
  fathom_span_end(&b);
  fathom_span_end(&a);
  ASSERT_EQ(fathom_active_context(&active), 0);
  EXPECT_EQ(std::memcmp(active.span_id, expected.span_id, 8), 0);
  fathom_span_deactivate(&c);
  EXPECT_EQ(fathom_active_context(&active), -1);
  fathom_span_end(&c);
  EXPECT_EQ(take().size(), 3U);
}

// As programs do it that leave a loop's round without an end.
void start_active(fathom_span& span, const char* name) {
  fathom_span_start_here(&span, {name, 1}, FATHOM_INTERNAL);
  fathom_span_activate(&span);
}

TEST_F(Spans, AnActiveSpanThatIsStartedAgainEnds) {
  fathom_span span;
  for (int i = 0; i < 3; i++) {
    start_active(span, "r");
    const std::string longer(1000, 'x');
    fathom_span_set_string(&span, {"k", 1}, {longer.data(), longer.size()});
  }
  fathom_span_end(&span);
  EXPECT_FALSE(Context::active().has_value());
  EXPECT_EQ(live().slabs.taken.load(), 0U);
  const std::vector<ReadSpan> spans = take();
  ASSERT_EQ(spans.size(), 3U);
  for (const ReadSpan& each : spans) EXPECT_EQ(each.parent_span_id, "");
}

TEST_F(Spans, AnOuterSpanThatIsStartedAgainLeavesTheInnerOneActive) {
  fathom_span a, b, c;
  start_active(a, "a");
  start_active(b, "b");
  start_active(a, "A");
  start_active(c, "c");
  for (fathom_span* span : {&a, &b, &c}) fathom_span_end(span);
  EXPECT_FALSE(Context::active().has_value());
  std::map<std::string, ReadSpan> by_name;
  for (const ReadSpan& span : take()) by_name[span.name] = span;
  ASSERT_EQ(by_name.size(), 4U);
  EXPECT_EQ(by_name["A"].parent_span_id, by_name["b"].span_id);
  EXPECT_EQ(by_name["c"].parent_span_id, by_name["A"].span_id);
}

TEST_F(Spans, AForgottenSpanWhoseMemoryWasUsedIsNotBelieved) {
  fathom_span outer, forgotten, next;
  start_active(outer, "o");
  start_active(forgotten, "f");
  std::memset(&forgotten, 0x5a, sizeof forgotten);
  start_active(forgotten, "g");
  start_active(next, "n");
  for (fathom_span* span : {&next, &forgotten, &outer}) fathom_span_end(span);
  EXPECT_FALSE(Context::active().has_value());
  EXPECT_EQ(take().size(), 3U);
}

// Another thread ends what is active here, which it must not, and the memory becomes something else: a text, say.
void lose(fathom_span& span) {
  std::thread([&span] { fathom_span_end(&span); }).join();
  std::memset(&span, 'Z', sizeof span);
  ASSERT_EQ(state_of(&span).flags & kActive, 0);
}

TEST_F(Spans, NothingBehindASpanThatIsNotActiveAnyMoreIsFollowed) {
  fathom_span outer, lost, next;
  start_active(outer, "o");
  start_active(lost, "l");
  lose(lost);
  start_active(next, "n");  // looks through the active spans
  fathom_span_end(&outer);  // looks for the one above
  fathom_span_end(&next);
  start_active(lost, "l");
  fathom_span_end(&lost);
  EXPECT_FALSE(Context::active().has_value());
  EXPECT_EQ(take().size(), 4U);
}

TEST_F(Spans, ARemoteParentIsSaidSo) {
  const auto parent =
      Context::extract("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "a=1,fathom=upstream,b=2");
  ASSERT_TRUE(parent.has_value());
  {
    Span span("GET /", parent, Kind::kServer);
    EXPECT_EQ(span.context().traceparent().substr(0, 36), "00-0af7651916cd43dd8448eb211c80319c-");
    EXPECT_EQ(span.context().tracestate(), "a=1,b=2") << "no agent, so no entry of ours";
    Span child("child");
    EXPECT_EQ(child.context().tracestate(), "a=1,b=2");
  }
  const std::vector<ReadSpan> spans = take();
  ASSERT_EQ(spans.size(), 2U);
  EXPECT_EQ(spans[1].parent_span_id, "b7ad6b7169203331");
  EXPECT_EQ(spans[1].flags, 0x81) << "sampled as it came; the parent is in another program";
  EXPECT_EQ(value_text(*spans[1].find(ItemTag::kTraceState, "")), "a=1,fathom=upstream,b=2")
      << "the node before is kept";
  EXPECT_EQ(spans[0].flags, 0x01);
  EXPECT_EQ(value_text(*spans[0].find(ItemTag::kTraceState, "")), "a=1,b=2");
}

TEST_F(Spans, AnEmptyContextBeginsATrace) {
  fathom_context nothing = {};
  fathom_span span;
  fathom_span_start(&span, {"x", 1}, FATHOM_CLIENT, &nothing);
  fathom_span_end(&span);
  EXPECT_EQ(take_one().parent_span_id, "");
}

// W3C: an id of zeros is none, and half a parent is none either.
TEST_F(Spans, AContextWithoutOneOfItsIdsBeginsATrace) {
  fathom_context without_trace = {}, without_span = {};
  without_trace.span_id[7] = without_trace.remote = 1;
  without_span.trace_id[0] = without_span.remote = 1;
  for (const fathom_context& half : {without_trace, without_span}) {
    fathom_span span;
    fathom_span_start(&span, {"x", 1}, FATHOM_CLIENT, &half);
    fathom_span_end(&span);
    const ReadSpan read = take_one();
    EXPECT_EQ(read.parent_span_id, "");
    EXPECT_EQ(read.flags, 3) << "no parent elsewhere";
    EXPECT_NE(read.trace_id.substr(2), std::string(30, '0'));
  }
}

TEST_F(Spans, AHeaderOfZerosIsNoContext) {
  const std::string trace = "0af7651916cd43dd8448eb211c80319c", id = "b7ad6b7169203331";
  for (const std::string& header : {"00-" + std::string(32, '0') + "-" + id + "-01",
                                    "00-" + trace + "-" + std::string(16, '0') + "-01", std::string("nonsense")}) {
    fathom_context context;
    std::memset(&context, 0xff, sizeof context);
    EXPECT_EQ(fathom_extract({header.data(), header.size()}, {"a=1", 3}, &context), -1);
    EXPECT_EQ(std::string(reinterpret_cast<const char*>(&context), sizeof context), std::string(sizeof context, '\0'));
    fathom_span span;
    fathom_span_start(&span, {"x", 1}, FATHOM_SERVER, &context);
    fathom_span_end(&span);
    EXPECT_EQ(take_one().parent_span_id, "") << "also for a program that does not look at the outcome";
  }
}

TEST_F(Spans, AKeyKeepsItsLatestValue) {
  {
    Span span("x");
    span.set("a", 1).set("bc", 2).set("de", "three").set("bc", "two").set("a", 11).set("bc", 22);
    span.ok().error("first").error("second");
  }
  const ReadSpan span = take_one();
  EXPECT_EQ(span.items.size(), 4U);
  EXPECT_EQ(span.attribute("a"), "11");
  EXPECT_EQ(span.attribute("bc"), "22");
  EXPECT_EQ(span.attribute("de"), "three");
  EXPECT_EQ(value_text(*span.find(ItemTag::kStatusMessage, "")), "second");
}

TEST_F(Spans, EventsAndLinksHaveDetailsOfTheirOwn) {
  const auto other = Context::extract("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "v=1");
  const uint64_t before = ticks();
  {
    Span span("x");
    span.detail("nowhere", 1);
    span.event("retry").detail("attempt", 1).set("meanwhile", true).detail("attempt", 2).detail("last", false);
    span.link(*other).detail("attempt", 9.0);
  }
  const ReadSpan span = take_one();
  std::string order;
  for (const ReadItem& item : span.items) order += std::to_string(static_cast<int>(item.tag)) + item.key + " ";
  EXPECT_EQ(order, "4nowhere 2retry 1meanwhile 4attempt 4last 3v=1 4attempt ");
  uint64_t time;
  std::memcpy(&time, span.items[1].value.data(), sizeof time);
  EXPECT_GE(time, before);
  EXPECT_LE(time, span.end_ticks);
  EXPECT_EQ(value_text(span.items[3]), "2");
  ASSERT_EQ(span.items[5].value.size(), 25U);
  EXPECT_EQ(span.items[5].value.substr(0, 4), "\x0a\xf7\x65\x19");
}

TEST_F(Spans, ALinkSaysWhetherItLeadsToAnotherProgram) {
  const auto other = Context::extract("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "");
  fathom_context strange = other->raw();
  strange.flags = 0xff;
  strange.remote = 0;
  {
    Span span("x");
    span.link(*other).link(span.context());
    fathom_span_add_link(span.raw(), &strange);
  }
  const ReadSpan span = take_one();
  ASSERT_EQ(span.items.size(), 3U);
  const auto flags = [&](size_t item) { return static_cast<uint8_t>(span.items[item].value.at(24)); };
  EXPECT_EQ(flags(0), 0x81);
  EXPECT_EQ(flags(1), span.flags);
  EXPECT_EQ(flags(2), 3) << "the other bits are nobody's";
}

TEST_F(Spans, ASpanThatIsMovedGoesOn) {
  for (size_t size : {10U, 3000U}) {
    auto first = std::make_unique<DetachedSpan>("moved");
    first->set("a", std::string(size, 'x'));
    DetachedSpan second(std::move(*first));
    EXPECT_FALSE(first->open());
    first.reset();
    DetachedSpan third;
    third = std::move(second);
    third.set("b", 2);
    third.end();
    third.end();
    EXPECT_FALSE(third.open());
    const ReadSpan span = take_one();
    EXPECT_EQ(span.attribute("a"), std::string(size, 'x'));
    EXPECT_EQ(span.attribute("b"), "2");
  }
}

TEST_F(Spans, ADiscardedSpanWasNeverThere) {
  Span outer("outer");
  {
    Span span("x");
    span.set("long", std::string(2000, 'x'));
    span.discard();
    EXPECT_EQ(live().slabs.taken.load(), 0U);
    const Span sibling("sibling");
  }
  EXPECT_EQ(take_one().parent_span_id, outer.context().traceparent().substr(36, 16));
  outer.discard();
}

TEST_F(Spans, AnExceptionEndsWhatItLeaves) {
  try {
    const Span outer("outer");
    const Span inner("inner");
    throw 1;
  } catch (int) {
  }
  EXPECT_FALSE(Context::active().has_value());
  const std::vector<ReadSpan> spans = take();
  ASSERT_EQ(spans.size(), 2U);
  EXPECT_EQ(spans[0].parent_span_id, spans[1].span_id);
  EXPECT_EQ(spans[0].status, FATHOM_UNSET) << "whether it is an error is for the program to say";
}

TEST_F(Spans, WhatIsNoSpanIsIgnored) {
  fathom_span span;
  span.opaque[0] = 0;
  fathom_span_set_int(&span, {"a", 1}, 1);
  fathom_span_set_string(&span, {"a", 1}, {"b", 1});
  fathom_span_add_event(&span, {"a", 1});
  fathom_span_set_name(&span, {"a", 1});
  fathom_span_activate(&span);
  fathom_span_deactivate(&span);
  fathom_span_end(&span);
  fathom_span_discard(&span);
  fathom_context context;
  fathom_span_context(&span, &context);
  EXPECT_EQ(context.span_id[0], 0);
  EXPECT_TRUE(take().empty());
}

TEST_F(Spans, NullTextsAreEmptyOnes) {
  const char* unset = nullptr;
  {
    Span span("x");
    span.set("unset", unset).event("e").detail("unset", unset);
  }
  EXPECT_EQ(take_one().attribute("unset"), "");
  EXPECT_FALSE(Context::extract(unset).has_value()) << "a header that did not come";
  const char* header = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  EXPECT_EQ(Context::extract(header, unset)->traceparent(), header);
  EXPECT_EQ(Context::extract(std::string(header), "a=1")->tracestate(), "a=1");
  fathom_span span;
  fathom_span_start_here(&span, {nullptr, 5}, FATHOM_INTERNAL);
  fathom_span_set_string(&span, {"k", 1}, {nullptr, 7});
  fathom_span_set_string(&span, {nullptr, 7}, {"v", 1});
  fathom_span_set_status(&span, FATHOM_ERROR, {nullptr, 0});
  fathom_span_add_link(&span, nullptr);
  fathom_span_end(&span);
  const ReadSpan read = take_one();
  EXPECT_EQ(read.name, "");
  EXPECT_EQ(read.attribute("k"), "");
  EXPECT_EQ(read.items.size(), 1U);
}

TEST_F(Spans, IdsDoNotRepeat) {
  std::map<std::string, int> ids;
  const auto count = [&](const std::vector<ReadSpan>& spans) {
    for (const ReadSpan& span : spans) {
      ids[span.span_id]++, ids[span.trace_id.substr(0, 16)]++, ids[span.trace_id.substr(16)]++;
    }
  };
  for (int i = 0; i < 20000; i++) {
    {
      const Span span("x");
    }
    if (i % 1000 == 0) count(take());
  }
  count(take());
  EXPECT_EQ(ids.size(), 60000U) << "each half of a trace's id is as good as a span's";
}

TEST_F(Spans, LossesOfAFullPoolAreCounted) {
  const uint64_t before = fathom_lost_spans();
  uint64_t made = 0;
  for (; fathom_lost_spans() < before + 100; made++) const Span span("fills the pool");
  EXPECT_EQ(take().size(), made - 100);
  EXPECT_EQ(lost(pool::kLostPoolFull), before + 100);
  EXPECT_EQ(fathom::lost_spans(), before + 100);
  // The thread finds a chunk within a few spans.
  while (reader_.take().empty()) const Span span("after");
}

TEST_F(Spans, ALossOfTheMomentWhenThePoolIsMadeIsCountedLater) {
  const uint64_t lost_before = fathom_lost_spans(), known_before = lost(pool::kLostNotReady);
  live().losses[pool::kLostNotReady] += 3;
  EXPECT_EQ(fathom_lost_spans(), lost_before + 3);
  std::thread([] { const Span span("takes a chunk"); }).join();
  EXPECT_EQ(lost(pool::kLostNotReady), known_before + 3);
  EXPECT_EQ(live().losses[pool::kLostNotReady].load(), 0U);
  EXPECT_EQ(fathom_lost_spans(), lost_before + 3);
}

TEST_F(Spans, FlushTellsWhetherTheReaderIsThrough) {
  EXPECT_EQ(fathom_flush(0), 0);
  { const Span span("x"); }
  EXPECT_EQ(fathom_flush(1'000'000), -1);
  EXPECT_FALSE(fathom::flush(0));
  take();
  EXPECT_EQ(fathom_flush(0), 0);
  EXPECT_TRUE(fathom::flush(0));
}

}  // namespace
}  // namespace fathom::client

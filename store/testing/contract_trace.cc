// trace(): everything that was sent comes back; spans in any order, of any age, repeated and conflicting.
#include <algorithm>

#include "base/testing/repetitions.h"
#include "store/model/span_text.h"
#include "store/testing/contract.h"

namespace fathom::store::testing {
namespace {

TestSpan full_span() {
  TestAttributes attributes = {{"text", "a"},
                               {"int", -7},
                               {"bool", ValueView::of_bool(true)},
                               {"double", ValueView::of_double(1.5)},
                               {"bytes", std::string("\0\xff", 2), ValueType::kBytes},
                               {"json", "{\"k\":[1,2]}", ValueType::kJson},
                               {"cut", "kept", ValueType::kCut},
                               {"empty", ValueView{}},
                               {"text", "the same key again"},
                               {"", "an empty key"}};
  TestSpan span = test_span(1, 2, 100, 50).parent(1).named("POST /cart").of_kind(SpanKind::kConsumer).failed();
  span.status_message = "it broke";
  span.trace_state = "vendor=1,fathom=abc";
  span.flags = 0x301;
  span.attributes = attributes;
  span.events = {{kTestNow + 120, "exception", attributes, 3}, {5, "", {}, 0}};
  span.links = {{test_trace_id(7), test_span_id(8), "k=v", attributes, 4, 0x101}, {test_trace_id(9), {}, "", {}, 0, 0}};
  span.dropped_attributes_count = 1;
  span.dropped_events_count = 2;
  span.dropped_links_count = UINT32_MAX;
  span.resource = {{{"service.name", "cart"}, {"service.namespace", "shop"}, {"pid", 12}}, "resource schema", 5};
  span.scope = {"lib", "1.2", {{"scope.key", "v"}}, "scope schema", 6};
  return span;
}

Ids texts(const StoredTrace& trace) {
  Ids out;
  for (const StoredSpan& span : trace.spans) out.push_back(content_text(span));
  return out;
}

Ids span_ids(const StoredTrace& trace) {
  Ids out;
  for (const StoredSpan& span : trace.spans) out.push_back(std::to_string(number_of(span.span.span_id)));
  return out;
}

TEST_P(StoreContract, EveryFieldComesBack) {
  TestSpan span = full_span();
  add({test_span(1, 1, 0, 500), span}, ClockOffset{-30, 4});
  always([&] {
    StoredTrace found = trace(1);
    ASSERT_EQ(found.spans.size(), 2u);
    const StoredSpan& stored = found.spans[1];
    EXPECT_EQ(content_text(stored), sent_text(span, ClockOffset{-30, 4}));
    EXPECT_EQ(stored.service_namespace, "shop");
    EXPECT_EQ(stored.service, "cart");
    EXPECT_EQ(stored.operation, "POST /cart");
    EXPECT_FALSE(stored.conflicting);
    EXPECT_EQ(found.trace_id, test_trace_id(1));
    EXPECT_EQ(found.start_unix_nano, kTestNow - 30);
    EXPECT_EQ(found.duration_nano, 500u);
    EXPECT_TRUE(found.complete);
  });
}

TEST_P(StoreContract, TracesAreFoundByWhatTheirIdsBeginWith) {
  const auto id = [](const char* begin, char digit) {
    std::string text(begin);
    text.resize(32, digit);
    return *TraceId::from_hex_text(text);
  };
  std::vector<TestSpan> spans;
  for (const char* begin : {"4bf92f3", "4bf92f35771", "4bf92f35772", "4bf92f36"}) {
    for (uint64_t n : {1, 2}) {
      TestSpan span = test_span(1, n, 0, 500);
      span.trace_id = id(begin, '4');
      spans.push_back(span);
    }
  }
  const auto found = [&](const char* begin, size_t most) {
    QueryBudget budget;
    Result<std::vector<TraceId>> ids = store().trace_ids({id(begin, '0'), id(begin, 'f')}, most, budget);
    EXPECT_TRUE(ids.ok());
    return ids ? *ids : std::vector<TraceId>{};
  };
  EXPECT_EQ(found("4bf92f35", 10), std::vector<TraceId>{});
  add({spans[0], spans[2], spans[4], spans[6]});
  add({spans[5], spans[3]});  // what has several parts is one trace
  always([&] {
    EXPECT_EQ(found("4bf92f35", 10), (std::vector<TraceId>{id("4bf92f35771", '4'), id("4bf92f35772", '4')}));
    EXPECT_EQ(found("4bf92f35772", 10), (std::vector<TraceId>{id("4bf92f35772", '4')}));
    EXPECT_EQ(found("4bf92f3", 2), (std::vector<TraceId>{id("4bf92f3", '4'), id("4bf92f35771", '4')}));
    EXPECT_EQ(found("4bf92f38", 10), std::vector<TraceId>{});
    EXPECT_EQ(found("ffffffff", 10), std::vector<TraceId>{});
  });
  harness().advance(2 * kNanosPerHour);
  ASSERT_TRUE(store().drop_before(harness().now_unix_nano()).ok());
  EXPECT_EQ(found("4bf92f35", 10), std::vector<TraceId>{});
}

TEST_P(StoreContract, ATraceStaysReadableWhateverBecomesOfItsRows) {
  TestSpan span = full_span();
  add({span});
  StoredTrace found = trace(1);
  ASSERT_TRUE(store().settle().ok());
  StoredTrace sealed = trace(1);
  harness().advance(2 * kNanosPerHour);
  ASSERT_TRUE(store().drop_before(harness().now_unix_nano()).ok());
  ASSERT_TRUE(store().settle().ok());
  EXPECT_FALSE(is_stored(1));
  EXPECT_EQ(texts(found), Ids{sent_text(span)});
  EXPECT_EQ(texts(sealed), Ids{sent_text(span)});
}

TEST_P(StoreContract, OnlyTheTraceAskedFor) {
  add({test_span(1, 1, 0, 10), test_span(2, 1, 0, 10), test_span(3, 1, 0, 10)});
  always([&] {
    EXPECT_EQ(texts(trace(2)), Ids{sent_text(test_span(2, 1, 0, 10))});
    EXPECT_FALSE(is_stored(4));
    EXPECT_FALSE(is_stored(0));
  });
}

TEST_P(StoreContract, SpansComeByStartThenId) {
  add({test_span(1, 5, 10, 1), test_span(1, 4, 20, 1).parent(5)});
  add({test_span(1, 3, 20, 9).parent(5), test_span(1, 2, 0, 1).parent(5)});
  always([&] { EXPECT_EQ(span_ids(trace(1)), (Ids{"2", "5", "3", "4"})); });
}

TEST_P(StoreContract, CompleteWhenEveryParentIsStored) {
  add({test_span(1, 3, 20, 10).parent(2)});
  EXPECT_FALSE(trace(1).complete);
  add({test_span(1, 1, 0, 100)});
  EXPECT_FALSE(trace(1).complete);
  ASSERT_TRUE(store().settle().ok());
  EXPECT_FALSE(only_row().complete);
  add({test_span(1, 2, 10, 50).parent(1)});
  always([&] {
    EXPECT_TRUE(trace(1).complete);
    EXPECT_TRUE(only_row().complete);
    EXPECT_TRUE(only_row(in_range(kTestNow + 10, kTestNow + 11), By::kSpan).complete);
  });
}

TEST_P(StoreContract, AParentInAnotherTraceIsMissing) {
  add({test_span(1, 2, 0, 10).parent(1), test_span(2, 1, 0, 10), test_span(3, 1, 0, 5).parent(1)});
  always([&] {
    EXPECT_FALSE(trace(1).complete);
    EXPECT_TRUE(trace(2).complete);
    EXPECT_TRUE(trace(3).complete);  // its own parent, and no root
    EXPECT_EQ(slowest({}, By::kSpan).back().root_duration_nano, 0u);
  });
}

TEST_P(StoreContract, SpansBeforeTheirParentsAndADayLate) {
  add({test_span(1, 2, 10, 20).parent(1)});
  ASSERT_TRUE(store().settle().ok());
  harness().advance(24 * kNanosPerHour);
  add({test_span(1, 1, 0, 100), test_span(2, 1, static_cast<int64_t>(24 * kNanosPerHour), 5)});
  always([&] {
    EXPECT_EQ(span_ids(trace(1)), (Ids{"1", "2"}));
    EXPECT_TRUE(trace(1).complete);
    Filter yesterday = in_range(kTestNow, kTestNow + kNanosPerMinute);
    SlowRow row = only_row(yesterday);
    EXPECT_EQ(row.duration_nano, 100u);
    EXPECT_EQ(row.root_duration_nano, 100u);
    EXPECT_EQ(row.spans, 2u);
  });
}

TEST_P(StoreContract, RowsEqualInEveryFieldAreOne) {
  TestSpan span = full_span();
  TestSpan root = test_span(1, 1, 0, 500);
  add({root, span, span});
  ASSERT_TRUE(store().settle().ok());
  add({span, test_span(2, 1, 0, 10)});
  always([&] {
    EXPECT_EQ(texts(trace(1)), (Ids{sent_text(root), sent_text(span)}));
    EXPECT_FALSE(trace(1).spans[1].conflicting);
    EXPECT_EQ(slowest().front().spans, 2u);
    EXPECT_EQ(slowest_ids({}, By::kSpan), (Ids{"1:1", "1:2", "2:1"}));
    EXPECT_EQ(ids(find({}, By::kSpan)), (Ids{"1:2", "2:1", "1:1"}));
  });
}

TEST_P(StoreContract, EqualIdsWithOtherContentAreBothKeptAndFlagged) {
  TestSpan first = test_span(1, 1, 0, 100);
  TestSpan second = test_span(1, 1, 0, 100).with({"retry", 1});
  add({first, test_span(1, 2, 0, 1).parent(1)});
  ASSERT_TRUE(store().settle().ok());
  add({second});
  always([&] {
    StoredTrace found = trace(1);
    ASSERT_EQ(span_ids(found), (Ids{"1", "1", "2"}));
    Ids both = {content_text(found.spans[0]), content_text(found.spans[1])};
    EXPECT_TRUE(std::ranges::is_permutation(both, Ids{sent_text(first), sent_text(second)}));
    EXPECT_TRUE(found.spans[0].conflicting);
    EXPECT_TRUE(found.spans[1].conflicting);
    EXPECT_FALSE(found.spans[2].conflicting);
    EXPECT_EQ(slowest().front().spans, 3u);
    // Equal in duration, start and ids: one row.
    EXPECT_EQ(slowest_ids({}, By::kSpan), (Ids{"1:1", "1:2"}));
    Filter filter;
    filter.where = {{"retry", "1"}};
    EXPECT_EQ(slowest_ids(filter, By::kSpan), Ids{"1:1"});
  });
}

TEST_P(StoreContract, EveryFieldTellsRowsApart) {
  std::vector<TestSpan> spans(14, full_span());
  spans[1].parent(9);
  spans[2].named("other");
  spans[3].kind = SpanKind::kClient;
  spans[4].status = StatusCode::kOk;
  spans[5].status_message = "";
  spans[6].trace_state = "";
  spans[7].flags = 0;
  spans[8].attributes[1].bits = 8;
  spans[9].events[0].attributes[0].text = "b";
  spans[10].links[0].flags = 0;
  spans[11].dropped_events_count = 0;
  spans[12].resource.attributes[2].bits = 13;
  spans[13].scope.version = "1.3";
  for (const TestSpan& span : spans) add({span});
  Ids expected;
  for (const TestSpan& span : spans) expected.push_back(sent_text(span));
  always([&] {
    EXPECT_TRUE(std::ranges::is_permutation(texts(trace(1)), expected));
    EXPECT_TRUE(std::ranges::all_of(trace(1).spans, &StoredSpan::conflicting));
  });
}

TEST_P(StoreContract, OneSpanIdInTwoTracesIsNoConflict) {
  add({test_span(1, 1, 0, 10), test_span(2, 1, 0, 20)});
  always([&] {
    EXPECT_FALSE(trace(1).spans.at(0).conflicting);
    EXPECT_FALSE(trace(2).spans.at(0).conflicting);
  });
}

TEST_P(StoreContract, TracesOfAHundredThousandSpans) {
  const uint64_t all = repetitions(100'000);
  const uint64_t batch = all / 25;
  for (uint64_t from = 0; from < all; from += batch) {
    std::vector<TestSpan> spans;
    for (uint64_t i = from; i < from + batch; ++i) {
      spans.push_back(test_span(1, i + 1, static_cast<int64_t>(i), 1));
      if (i > 0) spans.back().parent((i + 1) / 2);
    }
    spans.push_back(test_span(from + 2, 1, 0, 1));
    add(spans);
  }
  always([&] {
    StoredTrace found = trace(1);
    ASSERT_EQ(found.spans.size(), all);
    EXPECT_TRUE(found.complete);
    EXPECT_EQ(found.duration_nano, all);
    for (uint64_t i = 0; i < all; i += 997) ASSERT_EQ(found.spans[i].span.span_id, test_span_id(i + 1));
    SlowRow row = slowest({}, By::kTrace, 1).at(0);
    EXPECT_EQ(row.spans, all);
    EXPECT_EQ(row.duration_nano, all);
    EXPECT_TRUE(row.complete);
    Filter last = in_range(kTestNow + all - 1, UINT64_MAX);
    EXPECT_EQ(slowest_ids(last, By::kSpan), Ids{"1:" + std::to_string(all)});
  });
}

}  // namespace
}  // namespace fathom::store::testing

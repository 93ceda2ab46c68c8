// service, operation, where and errors: on one span, of every type of value.
#include <bit>

#include "store/testing/contract.h"

namespace fathom::store::testing {
namespace {

Filter where(std::string key, std::string value) {
  Filter filter;
  filter.where.push_back({std::move(key), std::move(value)});
  return filter;
}

TEST_P(StoreContract, ServiceOperationAndErrors) {
  add({test_span(1, 1, 0, 10).of_service("shop").named("GET /"), test_span(2, 1, 0, 20).of_service("stock").failed(),
       test_span(3, 1, 0, 30).of_service("stock").named("SELECT")});
  always([&] {
    for (By by : {By::kTrace, By::kSpan}) {
      Filter filter;
      filter.service = "stock";
      EXPECT_EQ(slowest_ids(filter, by), (Ids{"3:1", "2:1"}));
      filter.operation = "GET /";
      EXPECT_EQ(slowest_ids(filter, by), Ids{"2:1"});
      EXPECT_EQ(ids(find(filter, by)), Ids{"2:1"});
      filter.service.reset();
      EXPECT_EQ(slowest_ids(filter, by), (Ids{"2:1", "1:1"}));
      filter.errors = true;
      EXPECT_EQ(slowest_ids(filter, by), Ids{"2:1"});
      filter.operation = "SELECT";
      EXPECT_EQ(slowest_ids(filter, by), Ids{});
    }
  });
}

Filter of_traces(std::vector<uint64_t> numbers) {
  Filter filter;
  filter.traces.emplace();
  for (uint64_t number : numbers) filter.traces->push_back(test_trace_id(number));
  return filter;
}

TEST_P(StoreContract, OnlyTheTracesThatAreNamed) {
  add({test_span(1, 1, 0, 10), test_span(2, 1, 0, 20).of_service("stock"), test_span(3, 1, 0, 30)});
  add({test_span(3, 2, 5, 40).parent(1).of_service("stock"), test_span(4, 1, 0, 5).of_service("stock")});
  always([&] {
    EXPECT_EQ(slowest_ids(of_traces({})), Ids{});
    EXPECT_EQ(slowest_ids(of_traces({9})), Ids{}) << "nothing is stored of it";
    EXPECT_EQ(slowest_ids(of_traces({2, 1, 9, 3, 2})), (Ids{"3:1", "2:1", "1:1"}));
    EXPECT_EQ(slowest_ids(of_traces({1, 3}), By::kSpan), (Ids{"3:2", "3:1", "1:1"}));
    EXPECT_EQ(ids(find(of_traces({4}))), Ids{"4:1"});
    Filter filter = of_traces({1, 3, 4});
    filter.service = "stock";
    EXPECT_EQ(slowest_ids(filter), (Ids{"3:1", "4:1"}));
    EXPECT_EQ(slowest_ids(filter, By::kSpan), (Ids{"3:2", "4:1"}));
    filter.min_duration_nano = 45;
    EXPECT_EQ(slowest_ids(filter), Ids{"3:1"});
    EXPECT_EQ(slowest_ids(filter, By::kSpan), Ids{});
    filter.range.from_unix_nano = kTestNow + 1;
    EXPECT_EQ(slowest_ids(filter), Ids{});
  });
}

TEST_P(StoreContract, NamesThatNobodySent) {
  add({test_span(1, 1, 0, 10)});
  always([&] {
    Filter filter;
    filter.service = "nobody";
    EXPECT_EQ(slowest_ids(filter), Ids{});
    EXPECT_EQ(slowest_ids(filter, By::kSpan), Ids{});
    EXPECT_TRUE(operations({}, "nobody").empty());
    EXPECT_TRUE(latency({}, kNanosPerMinute, "nobody").empty());
    filter.service.reset();
    filter.operation = "";
    EXPECT_EQ(slowest_ids(filter), Ids{});
    EXPECT_EQ(slowest_ids(where("no.such.key", "")), Ids{});
  });
}

TEST_P(StoreContract, ConditionsMustHoldOnOneSpan) {
  add({test_span(1, 1, 0, 100).of_service("shop").named("GET /"),
       test_span(1, 2, 10, 10).parent(1).of_service("stock").named("SELECT").failed().with({"db", "main"}),
       test_span(1, 3, 20, 10).parent(1).of_service("stock").named("INSERT").with({"db", "spare"}).with({"rows", 3})});
  always([&] {
    Filter filter;
    filter.service = "stock";
    filter.operation = "GET /";
    EXPECT_EQ(slowest_ids(filter), Ids{});
    filter.operation = "INSERT";
    EXPECT_EQ(slowest_ids(filter), Ids{"1:1"});
    EXPECT_EQ(slowest_ids(filter, By::kSpan), Ids{"1:3"});
    filter.errors = true;
    EXPECT_EQ(slowest_ids(filter), Ids{});
    filter.operation = "SELECT";
    filter.where = {{"db", "main"}};
    EXPECT_EQ(slowest_ids(filter), Ids{"1:1"});
    EXPECT_EQ(slowest_ids(filter, By::kSpan), Ids{"1:2"});
    filter.where.push_back({"rows", "3"});
    EXPECT_EQ(slowest_ids(filter), Ids{});
    Filter both;
    both.where = {{"db", "spare"}, {"rows", "3"}};
    EXPECT_EQ(slowest_ids(both, By::kSpan), Ids{"1:3"});
  });
}

TEST_P(StoreContract, TheSpanThatMatchesMayLieOutsideTheRangeOfItsTrace) {
  add({test_span(1, 1, 0, 100), test_span(1, 2, 50, 10).parent(1).named("SELECT").with({"db", "main"})});
  always([&] {
    Filter filter = where("db", "main");
    filter.operation = "SELECT";
    filter.range = {kTestNow, kTestNow + 10};
    filter.min_duration_nano = 100;
    EXPECT_EQ(slowest_ids(filter), Ids{"1:1"});
    EXPECT_EQ(slowest_ids(filter, By::kSpan), Ids{});
    filter.range = {kTestNow + 10, UINT64_MAX};
    EXPECT_EQ(slowest_ids(filter), Ids{});
  });
}

TEST_P(StoreContract, AMatchThatArrivesLaterMakesTheTraceMatch) {
  add({test_span(1, 1, 0, 100)});
  ASSERT_TRUE(store().settle().ok());
  EXPECT_EQ(slowest_ids(where("db", "main")), Ids{});
  add({test_span(1, 2, 50, 10).parent(1).with({"db", "main"})});
  always([&] { EXPECT_EQ(slowest_ids(where("db", "main")), Ids{"1:1"}); });
}

TEST_P(StoreContract, AnOldMatchCountsWhenTheTraceGrows) {
  add({test_span(1, 2, 50, 10).parent(1).with({"db", "main"}).named("SELECT")});
  ASSERT_TRUE(store().settle().ok());
  add({test_span(1, 1, 0, 100)});
  always([&] {
    EXPECT_EQ(slowest_ids(where("db", "main")), Ids{"1:1"});
    Filter filter;
    filter.operation = "SELECT";
    filter.range = {kTestNow, kTestNow + 1};
    EXPECT_EQ(slowest_ids(filter), Ids{"1:1"});
    // What was sealed first says neither that the trace takes so long nor that it begins so early.
    Filter slow = where("db", "main");
    slow.min_duration_nano = 100;
    EXPECT_EQ(slowest_ids(slow), Ids{"1:1"});
    Filter early = where("db", "main");
    early.range = {kTestNow, kTestNow + 1};
    EXPECT_EQ(slowest_ids(early), Ids{"1:1"});
  });
}

TEST_P(StoreContract, WhereReadsEveryTypeOfValue) {
  struct Case {
    TestAttribute attribute;
    std::string text;
  };
  std::vector<Case> cases = {
      {{"string", "plain"}, "plain"},
      {{"string", ""}, ""},
      {{"string", "sp ace=\"quoted\" \xc3\xa4"}, "sp ace=\"quoted\" \xc3\xa4"},
      {{"string", std::string("nul\0inside", 10)}, std::string("nul\0inside", 10)},
      {{"bool", ValueView::of_bool(true)}, "true"},
      {{"bool", ValueView::of_bool(false)}, "false"},
      {{"int", 42}, "42"},
      {{"int", -42}, "-42"},
      {{"int", ValueView::of_int(INT64_MIN)}, "-9223372036854775808"},
      {{"int", ValueView::of_int(INT64_MAX)}, "9223372036854775807"},
      {{"double", ValueView::of_double(0.1)}, "0.1"},
      {{"double", ValueView::of_double(-2.5e300)}, "-2.5e+300"},
      {{"double", ValueView::of_double(std::bit_cast<double>(uint64_t{1} << 63))}, "-0"},
      {{"bytes", "\xff\xfe", ValueType::kBytes}, "//4="},
      {{"json", "[1,\"a\"]", ValueType::kJson}, "[1,\"a\"]"},
      {{"cut", "the kept part", ValueType::kCut}, "the kept part"},
      {{"empty", ValueView{}}, ""},
  };
  std::vector<TestSpan> spans;
  for (size_t i = 0; i < cases.size(); ++i) {
    spans.push_back(test_span(i + 1, 1, 0, 1000 - i).with(cases[i].attribute));
  }
  add(spans);
  always([&] {
    for (size_t i = 0; i < cases.size(); ++i) {
      SCOPED_TRACE(cases[i].attribute.key + "=" + cases[i].text);
      Ids expected{std::to_string(i + 1) + ":1"};
      EXPECT_EQ(slowest_ids(where(cases[i].attribute.key, cases[i].text)), expected);
      EXPECT_EQ(slowest_ids(where(cases[i].attribute.key, cases[i].text), By::kSpan), expected);
      EXPECT_EQ(slowest_ids(where(cases[i].attribute.key, cases[i].text + "x")), Ids{});
    }
    EXPECT_EQ(slowest_ids(where("int", "042")), Ids{});
    EXPECT_EQ(slowest_ids(where("bool", "1")), Ids{});
  });
}

TEST_P(StoreContract, OneKeyMayHaveManyTypesAndTheTextDecides) {
  add({test_span(1, 1, 0, 30).with({"code", 200}), test_span(2, 1, 0, 20).with({"code", "200"}),
       test_span(3, 1, 0, 10).with({"code", ValueView::of_double(200)}), test_span(4, 1, 0, 5).with({"code", 404})});
  always([&] { EXPECT_EQ(slowest_ids(where("code", "200")), (Ids{"1:1", "2:1", "3:1"})); });
}

TEST_P(StoreContract, WhereLooksAtTheResourceToo) {
  TestSpan on_resource = test_span(1, 1, 0, 10);
  on_resource.resource.attributes.push_back({"host.name", "a"});
  TestSpan on_span = test_span(2, 1, 0, 20).with({"host.name", "a"});
  TestSpan elsewhere = test_span(3, 1, 0, 30);
  elsewhere.scope = {"lib", "1", {{"host.name", "a"}}, "", 0};
  elsewhere.events.push_back({kTestNow, "event", {{"host.name", "a"}}, 0});
  add({on_resource, on_span, elsewhere});
  always([&] {
    EXPECT_EQ(slowest_ids(where("host.name", "a")), (Ids{"2:1", "1:1"}));
    EXPECT_EQ(slowest_ids(where("host.name", "a"), By::kSpan), (Ids{"2:1", "1:1"}));
    EXPECT_EQ(slowest_ids(where("service.name", "shop")), (Ids{"3:1", "2:1", "1:1"}));
  });
}

TEST_P(StoreContract, ARepeatedKeyMatchesByAnyOfItsValues) {
  add({test_span(1, 1, 0, 10).with({"tag", "red"}).with({"tag", "blue"})});
  always([&] {
    EXPECT_EQ(slowest_ids(where("tag", "red")), Ids{"1:1"});
    EXPECT_EQ(slowest_ids(where("tag", "blue")), Ids{"1:1"});
    Filter both = where("tag", "red");
    both.where.push_back({"tag", "blue"});
    EXPECT_EQ(slowest_ids(both), Ids{"1:1"});
  });
}

Filter compared(std::string key, Compare compare, std::string value, const ValueView& bound = {}) {
  Filter filter;
  filter.where = {{std::move(key), std::move(value), {}, compare, bound}};
  return filter;
}

TEST_P(StoreContract, ConditionsThatCompare) {
  TestSpan resourced = test_span(4, 1, 0, 40);
  resourced.resource.attributes.push_back({"amount", 700});
  add({test_span(1, 1, 0, 10).with({"amount", 500}),
       test_span(2, 1, 0, 20).with({"amount", ValueView::of_double(500.5)}),
       test_span(3, 1, 0, 30).with({"amount", "900"}), resourced, test_span(5, 1, 0, 50),
       test_span(6, 1, 0, 60).with({"rare", "yes"}).with({"amount", 500}).with({"amount", 1})});
  always([&] {
    for (By by : {By::kTrace, By::kSpan, By::kSpanOfTrace}) {
      const auto found = [&](const Filter& filter) {
        EXPECT_EQ(ids(find(filter, by)).size(), slowest_ids(filter, by).size());
        return slowest_ids(filter, by);
      };
      const ValueView bound = ValueView::of_int(500);
      EXPECT_EQ(found(compared("amount", Compare::kGreater, "", bound)), (Ids{"4:1", "2:1"}));
      EXPECT_EQ(found(compared("amount", Compare::kAtLeast, "", bound)), (Ids{"6:1", "4:1", "2:1", "1:1"}));
      EXPECT_EQ(found(compared("amount", Compare::kLess, "", bound)), Ids{"6:1"});
      EXPECT_EQ(found(compared("amount", Compare::kAtMost, "", ValueView::of_double(500.5))),
                (Ids{"6:1", "2:1", "1:1"}));
      EXPECT_EQ(found(compared("amount", Compare::kNotEqual, "500")), (Ids{"4:1", "3:1", "2:1"}));
      EXPECT_EQ(found(compared("amount", Compare::kExists, "")), (Ids{"6:1", "4:1", "3:1", "2:1", "1:1"}));
      EXPECT_EQ(found(compared("amount", Compare::kLacks, "")), Ids{"5:1"});
      EXPECT_EQ(found(compared("rare", Compare::kExists, "")), Ids{"6:1"});
      EXPECT_EQ(found(compared("none", Compare::kNotEqual, "x")), Ids{});
      EXPECT_EQ(found(compared("none", Compare::kLacks, "")).size(), 6u);
      Filter both = compared("amount", Compare::kAtLeast, "", bound);
      both.where.push_back(compared("amount", Compare::kNotEqual, "700").where[0]);
      both.where.push_back(compared("rare", Compare::kLacks, "").where[0]);
      EXPECT_EQ(found(both), (Ids{"2:1", "1:1"}));
    }
  });
}

TEST_P(StoreContract, AConditionHoldsByAnyOfItsPairs) {
  TestSpan on_resource = test_span(4, 1, 0, 60);
  on_resource.resource.attributes.push_back({"k=a", "b"});
  add({test_span(1, 1, 0, 30).with({"k", "a=b"}), test_span(2, 1, 0, 40).with({"k", "a"}),
       test_span(3, 1, 0, 50).with({"rate", ValueView::of_double(3)}), on_resource,
       test_span(5, 1, 0, 70).with({"k", "a=b"}).with({"k=a", "b"}).with({"rate", 3})});
  always([&] {
    Filter filter;
    filter.where = {{"k", "a=b", {{"k=a", "b"}, {"no.such.key", ""}}}};
    for (By by : {By::kTrace, By::kSpan}) {
      EXPECT_EQ(slowest_ids(filter, by), (Ids{"5:1", "4:1", "1:1"}));
      EXPECT_EQ(ids(find(filter, by)).size(), 3u);
    }
    Filter both = filter;
    both.where.push_back({"rate", "3.0", {{"rate", "3"}}});
    EXPECT_EQ(slowest_ids(both), Ids{"5:1"});
    EXPECT_EQ(slowest_ids(both, By::kSpan), Ids{"5:1"});
    filter.where = {{"no.such.key", "", {{"nor", "this"}}}};
    EXPECT_EQ(slowest_ids(filter), Ids{});
    filter.where = {{"no.such.key", "", {{"rate", "3"}}}};
    EXPECT_EQ(slowest_ids(filter, By::kSpan), (Ids{"5:1", "3:1"}));
  });
}

TEST_P(StoreContract, AlternativesAmongManyRowsKeepTheirOrder) {
  std::vector<TestSpan> spans;
  Ids expected;
  for (uint64_t i = 1; i <= 600; ++i) {
    spans.push_back(
        test_span(i, 1, static_cast<int64_t>(i * kNanosPerSecond), 1000 - i).with({"n", static_cast<int>(i % 5)}));
    if (i % 5 == 2 || i % 5 == 3) expected.push_back(std::to_string(i) + ":1");
  }
  add(spans);
  always([&] {
    Filter filter;
    filter.where = {{"n", "3", {{"n", "2"}, {"n", "7"}}}};
    EXPECT_EQ(ids(slowest(filter, By::kSpan, 600)), expected);
    EXPECT_EQ(ids(slowest(filter, By::kTrace, 600)), expected);
  });
}

TEST_P(StoreContract, ServicesOfOneNameInSeveralNamespaces) {
  add({test_span(1, 1, 0, 10).of_service("eu", "shop"), test_span(2, 1, 0, 20).of_service("us", "shop"),
       test_span(3, 1, 0, 30).of_service("shop", "eu")});
  always([&] {
    Filter filter;
    filter.service = "shop";
    EXPECT_EQ(slowest_ids(filter), (Ids{"2:1", "1:1"}));
    EXPECT_EQ(operations({}, "shop").size(), 2u);
    EXPECT_EQ(latency({}, kNanosPerMinute, "shop").at(0).durations.count(), 2u);
  });
}

TEST_P(StoreContract, EmptyNamesAndResourcesWithoutAName) {
  TestSpan nameless = test_span(1, 1, 0, 10).named("");
  nameless.resource = {};
  TestSpan empty = test_span(2, 1, 0, 20).of_service("");
  add({nameless, empty});
  always([&] {
    Filter filter;
    filter.service = "unknown_service";
    EXPECT_EQ(slowest_ids(filter), (Ids{"2:1", "1:1"}));
    filter.operation = "";
    EXPECT_EQ(slowest_ids(filter), Ids{"1:1"});
    EXPECT_EQ(only_row(filter).service, "unknown_service");
    EXPECT_EQ(only_row(filter).operation, "");
  });
}

TEST_P(StoreContract, ARareValueAmongMany) {
  std::vector<TestSpan> spans;
  for (uint64_t i = 1; i <= 600; ++i) {
    spans.push_back(test_span(i, 1, static_cast<int64_t>(i * kNanosPerSecond), i)
                        .with({"tier", "plain"})
                        .with({"request.id", std::to_string(i)}));
  }
  spans[6].with({"tier", "canary"});
  spans[399].with({"tier", "canary"});
  add(spans);
  always([&] {
    EXPECT_EQ(slowest_ids(where("tier", "canary")), (Ids{"400:1", "7:1"}));
    EXPECT_EQ(slowest_ids(where("request.id", "123")), Ids{"123:1"});
    Filter page_filter = where("tier", "plain");
    EXPECT_EQ(slowest(page_filter, By::kSpan, 600).size(), 600u);
  });
}

}  // namespace
}  // namespace fathom::store::testing

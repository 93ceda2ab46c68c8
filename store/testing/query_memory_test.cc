// A query holds no more memory than it was charged for, whatever senders stored: tiny on disk, huge when decoded.
#include <gtest/gtest.h>

#include <functional>
#include <utility>

#include "store/testing/allocation_meter.h"
#include "store/testing/contract_harness.h"
#include "store/testing/rocks_rig.h"

namespace fathom::store::testing {
namespace {

// The promise: at most half as much again as was charged, and a constant: one span from memory, with as many
// attributes of events and links as the limits allow, and what does not grow with the data.
constexpr uint64_t kConstantBytes = 12 << 20;
uint64_t most_allowed(uint64_t charged_bytes) {
  return charged_bytes + charged_bytes / 2 + kConstantBytes;
}

constexpr size_t kValueBytes = 16 * 1024;  // the longest that a batch takes

std::string long_value(uint64_t number) {
  std::string value(kValueBytes - 24, 'a');
  return value + std::to_string(number);
}

// Upper-case letters are no digits of hexadecimal numbers, lower-case ones are packed two into a byte.
std::string long_hex(uint64_t number) {
  std::string value(kValueBytes - 16, '0');
  return value + TraceId::from_bytes(test_trace_id(number).view())->hex().substr(0, 16);
}

struct Hostile {
  const char* name;
  std::function<std::vector<TestSpan>()> spans;
  size_t spans_per_batch = 400;  // 8 MiB are the most that a batch may have
};

std::vector<TestSpan> spans_of_one_trace(size_t count, const std::function<void(TestSpan&, uint64_t)>& change) {
  std::vector<TestSpan> spans;
  for (uint64_t i = 1; i <= count; ++i) {
    spans.push_back(test_span(1, i, static_cast<int64_t>(i), i));
    change(spans.back(), i);
  }
  return spans;
}

std::vector<Hostile> all_hostile() {
  return {
      {"long values",
       [] { return spans_of_one_trace(1500, [](TestSpan& span, uint64_t i) {
              span.with({"key", long_value(i)});
            }); }},
      {"long hexadecimal values",
       [] { return spans_of_one_trace(1000, [](TestSpan& span, uint64_t i) {
              span.with({"key", long_hex(i)});
            }); }},
      {"many attributes",
       [] {
         return spans_of_one_trace(20'000, [](TestSpan& span, uint64_t) {
           for (int n = 0; n < 100; ++n) span.with({"key" + std::to_string(n), ValueView{}});
         });
       }},
      {"many events",
       [] {
         return spans_of_one_trace(40, [](TestSpan& span, uint64_t) {
           TestEvent event{1, "e", {}, 0};
           for (int n = 0; n < 100; ++n) event.attributes.push_back({"key", ValueView{}});
           span.events.assign(1000, event);
         });
       },
       10},
      {"many links",
       [] {
         return spans_of_one_trace(100, [](TestSpan& span, uint64_t) {
           TestLink link{test_trace_id(1), test_span_id(1), "", {}, 0, 0};
           for (int n = 0; n < 10; ++n) link.attributes.push_back({"key", 1});
           span.links.assign(1000, link);
         });
       },
       10},
      {"long resources",
       [] {
         return spans_of_one_trace(1500, [](TestSpan& span, uint64_t i) {
           span.resource.attributes.push_back({"key", long_value(i)});
         });
       }},
      {"long messages",
       [] {
         return spans_of_one_trace(20'000, [](TestSpan& span, uint64_t i) {
           span.status_message = std::string(1000, 'm') + std::to_string(i);
         });
       }},
      {"many spans", [] { return spans_of_one_trace(60'000, [](TestSpan&, uint64_t) {}); }},
      {"many traces",
       [] {
         std::vector<TestSpan> spans;
         for (uint64_t i = 1; i <= 60'000; ++i) spans.push_back(test_span(i, i, static_cast<int64_t>(i * kMilli), i));
         return spans;
       }},
      {"many operations",
       [] {
         return spans_of_one_trace(3000, [](TestSpan& span, uint64_t i) {
           span.named(std::string(900, 'o') + std::to_string(i));
           span.of_service("s" + std::to_string(i % 100));
         });
       }},
  };
}

template <typename T>
Result<> end_of(const Result<T>& result) {
  return result ? Result<>() : Result<>(result.error());
}

struct Question {
  const char* name;
  std::function<Result<>(SpanStore&, QueryBudget&)> ask;
};

std::vector<Question> all_questions() {
  Filter where;
  where.where = {{"key", "absent"}};
  Filter range;
  range.where = {{.key = "key", .value = "5", .compare = Compare::kGreater, .bound = ValueView::of_int(5)}};
  return {
      {"trace", [](auto& s, auto& b) { return end_of(s.trace(test_trace_id(1), b)); }},
      {"slowest traces", [](auto& s, auto& b) { return end_of(s.slowest({}, By::kTrace, 1000, {}, b)); }},
      {"slowest spans", [](auto& s, auto& b) { return end_of(s.slowest({}, By::kSpan, 1000, {}, b)); }},
      {"slowest where", [=](auto& s, auto& b) { return end_of(s.slowest(where, By::kTrace, 1000, {}, b)); }},
      {"slowest in a range", [=](auto& s, auto& b) { return end_of(s.slowest(range, By::kSpan, 1000, {}, b)); }},
      {"find", [](auto& s, auto& b) { return end_of(s.find({}, By::kTrace, 1000, b)); }},
      {"operations", [](auto& s, auto& b) { return end_of(s.operations({}, std::nullopt, b)); }},
      {"keys", [](auto& s, auto& b) { return end_of(s.attribute_keys({}, b)); }},
      {"values", [](auto& s, auto& b) { return end_of(s.attribute_values({}, "key", "", 1000, b)); }},
      {"latency", [](auto& s, auto& b) { return end_of(s.latency({}, {}, {}, kNanosPerMinute, b)); }},
      {"times",
       [](auto& s, auto& b) {
         return s.visit_times(
             {}, [](const TimesView&) {}, b);
       }},
      {"sample",
       [](auto& s, auto& b) {
         return end_of(s.sample(
             {}, {}, [](const StoredSpan&) {}, b));
       }},
      {"calls", [](auto& s, auto& b) { return end_of(s.calls({}, 1'000'000, b)); }},
      {"trace ids",
       [](auto& s, auto& b) {
         return end_of(s.trace_ids({test_trace_id(1), test_trace_id(UINT64_MAX)}, 1000, b));
       }},
  };
}

// Asks with that budget: the memory must be within what was charged, and within the budget. What was charged, or
// nothing when a budget of this size did not suffice.
std::optional<uint64_t> ask(SpanStore& store, const Question& question, uint64_t budget_bytes) {
  QueryBudget budget(UINT64_MAX, budget_bytes);
  uint64_t most = 0;
  Result<> answer;
  {
    AllocationMeter meter;
    answer = question.ask(store, budget);
    most = meter.most_bytes();
  }
  EXPECT_LE(most, most_allowed(budget.most_bytes())) << "charged " << budget.most_bytes();
  if (budget_bytes != UINT64_MAX) {
    EXPECT_LE(most, most_allowed(budget_bytes));
  }
  EXPECT_EQ(budget.held_bytes(), 0u) << "memory is still charged after the answer has gone";
  if (answer) return budget.most_bytes();
  EXPECT_EQ(answer.error().code, ErrorCode::kExhausted) << answer.error().message;
  return std::nullopt;
}

void ask_all(SpanStore& store) {
  for (const Question& question : all_questions()) {
    SCOPED_TRACE(question.name);
    const std::optional<uint64_t> charged = ask(store, question, UINT64_MAX);
    ASSERT_TRUE(charged);
    for (uint64_t part : {2, 10, 100}) ask(store, question, *charged / part);
  }
}

class QueryMemory : public ::testing::TestWithParam<Hostile> {};

TEST_P(QueryMemory, StaysWithinWhatIsCharged) {
  if (!AllocationMeter::is_available()) GTEST_SKIP() << "a sanitizer allocates: memory is measured without one";
  RocksRig rig;
  ASSERT_EQ(rig.open(), "");
  std::vector<TestSpan> spans = GetParam().spans();
  const size_t at_once = GetParam().spans_per_batch;
  for (size_t first = 0; first < spans.size(); first += at_once) {
    auto begin = spans.begin() + static_cast<ptrdiff_t>(first);
    auto end = spans.begin() + static_cast<ptrdiff_t>(std::min(first + at_once, spans.size()));
    AppendResult appended = append_and_wait(rig.store(), make_batch({begin, end}));
    ASSERT_EQ(appended.outcome, AppendOutcome::kDurable) << appended.message;
  }
  spans.clear();
  {
    SCOPED_TRACE("in memory");
    ask_all(rig.store());
  }
  ASSERT_TRUE(rig.store().settle().ok());
  SCOPED_TRACE("sealed");
  ask_all(rig.store());
}

INSTANTIATE_TEST_SUITE_P(Hostile, QueryMemory, ::testing::ValuesIn(all_hostile()), [](const auto& info) {
  std::string name;
  for (const char* at = info.param.name; *at != 0; ++at) name += *at == ' ' ? '_' : *at;
  return name;
});

}  // namespace
}  // namespace fathom::store::testing

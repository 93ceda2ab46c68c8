#include "store/testing/random_input.h"

#include "base/time.h"

namespace fathom::store::testing {

uint64_t RandomInput::time() {
  int64_t minute = pick<int64_t>({-1440, -61, -31, -1, 0, 0, 1, 1, 2, 3, 29, 30, 31, 61, 180});
  return kTestNow + static_cast<uint64_t>(minute * static_cast<int64_t>(kNanosPerMinute)) +
         pick<uint64_t>({0, 0, 1, 2, 1000, 59 * kNanosPerSecond});
}

uint64_t RandomInput::duration() {
  return pick<uint64_t>({0, 1, 2, 10, 11, 1000, kMilli, kMilli, kNanosPerSecond, 61 * kNanosPerSecond, kNanosPerHour});
}

void RandomInput::add_attributes(TestSpan& span) {
  if (chance(60)) span.with({"method", pick({"GET", "POST"})});
  if (chance(40)) span.with({"code", pick({200, 404, 500})});
  if (chance(15)) span.with({"code", pick({"200", "teapot"})});
  if (chance(10)) span.with({"ratio", ValueView::of_double(pick({0.5, -1.0}))});
  if (chance(10)) span.with({"cached", ValueView::of_bool(chance(50))});
  if (chance(5)) span.with({"raw", pick({"\x01", "\xff"}), ValueType::kBytes});
  if (chance(5)) span.with({"host", pick({"a", "b"})});
  if (chance(3)) span.with({"rare." + std::to_string(below(40)), ""});
}

void RandomInput::add_rare_parts(TestSpan& span) {
  if (chance(10)) span.events.push_back({time(), pick({"retry", ""}), {{"try", static_cast<int>(below(3))}}, 0});
  if (chance(10)) span.links.push_back({trace_id(), test_span_id(1 + below(6)), "k=v", {{"why", "batch"}}, 1, 1});
  if (chance(5)) span.status_message = "broken";
  if (chance(5)) span.trace_state = "a=b";
  if (chance(5)) span.dropped_events_count = 3;
  if (chance(10)) span.scope = {"lib", pick({"1", "2"}), {}, "", 0};
}

void RandomInput::spoil_clock(TestSpan& span) {
  // No corrected start is the end of time, which is in no range; of a sealed one the attribute keys are listed still.
  constexpr uint64_t kLast = UINT64_MAX - 1 - kNanosPerHour;
  if (chance(3)) span.start_unix_nano = pick<uint64_t>({0, 1, kLast, kLast - 1000});
  span.end_unix_nano =
      span.start_unix_nano > UINT64_MAX - 2 * kNanosPerHour ? UINT64_MAX : span.start_unix_nano + duration();
  if (chance(3)) span.end_unix_nano = span.start_unix_nano - std::min<uint64_t>(span.start_unix_nano, 5);
}

// A new id, and for a parent one that was there before: mostly of this trace.
void RandomInput::identify(TestSpan& span) {
  std::vector<SpanId>& known = ids_[span.trace_id];
  if (!span.parent_span_id.is_zero() && !known.empty() && chance(90)) span.parent_span_id = known[below(known.size())];
  span.span_id = test_span_id(100 + ++spans_);
  known.push_back(span.span_id);
}

TestSpan RandomInput::span() {
  TestSpan span = test_span(0, 1 + below(8), 0, 0);
  span.trace_id = trace_id();
  if (chance(75)) span.parent(1 + below(6));
  if (unique_) identify(span);
  span.start_unix_nano = time();
  spoil_clock(span);
  span.named(pick({"GET /", "POST /", "SELECT", "push", ""}));
  span.kind = pick({SpanKind::kServer, SpanKind::kServer, SpanKind::kClient});
  span.status = pick({StatusCode::kUnset, StatusCode::kUnset, StatusCode::kOk, StatusCode::kError});
  span.of_service(pick({"", "", "eu"}), pick({"shop", "shop", "stock", ""}));
  if (chance(20)) span.resource.attributes.push_back({"host", pick({"a", "b"})});
  if (chance(10)) span.with({"peer.service", pick({"shop", "stock", "nobody", ""})});
  add_attributes(span);
  add_rare_parts(span);
  return span;
}

std::vector<TestSpan> RandomInput::spans() {
  std::vector<TestSpan> spans;
  uint64_t count = chance(6) ? 70 : 1 + below(10);
  for (uint64_t i = 0; i < count; ++i) {
    bool again = !earlier_.empty() && chance(12) && !unique_;
    spans.push_back(again ? earlier_[below(earlier_.size())] : span());
  }
  earlier_.insert(earlier_.end(), spans.begin(), spans.end());
  // No two batches are equal by chance: how long an identity is remembered beyond its hour is open.
  TestSpan unique = span();
  unique.trace_id = test_trace_id(1000 + ++batches_);
  spans.push_back(std::move(unique));
  return spans;
}

std::optional<ClockOffset> RandomInput::clock() {
  if (chance(80)) return std::nullopt;
  return ClockOffset{pick<int64_t>({0, 1, -1, 1'000'000, -60'000'000'000, 3'600'000'000'000}), below(3)};
}

TimeRange RandomInput::range() {
  if (chance(40)) return {};
  TimeRange range{time(), time()};
  if (chance(85) && range.from_unix_nano > range.to_unix_nano) std::swap(range.from_unix_nano, range.to_unix_nano);
  if (chance(20)) range.from_unix_nano = 0;
  if (chance(20)) range.to_unix_nano = UINT64_MAX;
  range.from_unix_nano += below(2);
  return range;
}

std::optional<std::string> RandomInput::service() {
  if (chance(60)) return std::nullopt;
  return pick({"shop", "shop", "stock", "unknown_service", "nobody"});
}

std::optional<std::string> RandomInput::operation() {
  if (chance(60)) return std::nullopt;
  return pick({"GET /", "POST /", "SELECT", "push", "", "__other__", "nothing"});
}

// In any order, some of them twice, some of them of nothing.
std::vector<TraceId> RandomInput::trace_ids() {
  std::vector<TraceId> ids(below(8));
  for (TraceId& id : ids) id = test_trace_id(1 + below(16));
  return ids;
}

Condition RandomInput::condition() {
  Condition condition{pick({"method", "code", "code", "ratio", "ratio", "cached", "raw", "host", "rare.3", "none"}),
                      ""};
  condition.compare = pick({Compare::kNotEqual, Compare::kGreater, Compare::kAtLeast, Compare::kLess, Compare::kAtMost,
                            Compare::kExists, Compare::kLacks});
  if (condition.compare == Compare::kNotEqual) condition.value = pick({"GET", "200", "0.5", "true", "a", ""});
  if (condition.is_range()) {
    condition.bound = pick({ValueView::of_int(200), ValueView::of_int(300), ValueView::of_double(0.5),
                            ValueView::of_double(404), ValueView::of_int(-1), ValueView::of_double(-1e300)});
  }
  return condition;
}

Filter RandomInput::filter() {
  static const std::vector<Condition> kConditions = {
      {"method", "GET"}, {"method", "POST"}, {"code", "200"},         {"code", "404"}, {"code", "teapot"},
      {"ratio", "0.5"},  {"cached", "true"}, {"raw", "AQ=="},         {"host", "a"},   {"host", "b"},
      {"rare.3", ""},    {"none", ""},       {"service.name", "shop"}};
  Filter filter;
  filter.range = range();
  filter.service = service();
  filter.operation = operation();
  if (chance(30)) filter.where.push_back(kConditions[below(kConditions.size())]);
  if (chance(10)) filter.where.push_back(kConditions[below(kConditions.size())]);
  if (chance(20)) filter.where.push_back(condition());
  filter.errors = chance(15);
  if (chance(25)) filter.min_duration_nano = duration();
  if (chance(25)) filter.max_duration_nano = duration() + below(2);
  if (chance(15)) filter.traces = trace_ids();
  return filter;
}

}  // namespace fathom::store::testing

#include "query/testing/sample_store.h"

#include <gtest/gtest.h>

#include <thread>

namespace fathom::query::testing {

namespace {

using store::AttributeView;
using store::SpanView;
using store::ValueView;

store::BatchPtr batch_of(const SpanView& span, std::span<const AttributeView> resource) {
  store::BatchBuilder builder;
  builder.set_resource({.attributes = resource});
  builder.set_scope({.name = "sample", .version = "1"});
  builder.add(span);
  return builder.finish();
}

SpanView sample_span(uint64_t n, uint64_t part) {
  SpanView span;
  span.trace_id = sample_trace_id(n);
  span.span_id = sample_span_id(2 * n + part);
  if (part == 1) span.parent_span_id = sample_span_id(2 * n);
  span.start_unix_nano = kSampleStart + n * 1'000'000'000 + part * kMilli;
  span.end_unix_nano = span.start_unix_nano + (n + 1) * 10 * kMilli / (part + 1);
  span.name = part == 0 ? "GET /cart" : "lookup";
  span.kind = part == 0 ? store::SpanKind::kServer : store::SpanKind::kInternal;
  span.status = part == 1 && n % 3 == 0 ? store::StatusCode::kError : store::StatusCode::kUnset;
  return span;
}

}  // namespace

TraceId sample_trace_id(uint64_t n) {
  TraceId id;
  id.bytes[0] = 0xab;
  for (size_t byte = 0; byte < sizeof(n); ++byte) id.bytes[15 - byte] = static_cast<uint8_t>(n >> (8 * byte));
  return id;
}

SpanId sample_span_id(uint64_t n) {
  SpanId id;
  id.bytes[0] = 0xcd;
  id.bytes[7] = static_cast<uint8_t>(n);
  return id;
}

SampleStore::SampleStore() {
  for (uint64_t n = 0; n < kTraces; ++n) {
    AttributeView gateway[] = {{"service.name", ValueView::of_string("gateway")}};
    AttributeView catalog[] = {{"service.name", ValueView::of_string("catalog")},
                               {"service.namespace", ValueView::of_string("shop")}};
    AttributeView attributes[] = {{"tier", ValueView::of_string(n % 2 ? "gold" : "plain & simple")}};
    SpanView root = sample_span(n, 0);
    root.attributes = attributes;
    add(root, gateway);
    add(sample_span(n, 1), catalog);
  }
}

void SampleStore::add(const SpanView& span, std::span<const AttributeView> resource) {
  append(batch_of(span, resource), [](store::AppendResult result) {
    ASSERT_EQ(result.outcome, store::AppendOutcome::kDurable) << result.message;
  });
}

Result<store::SlowPage> SampleStore::slowest(const store::Filter& filter, store::By by, size_t limit,
                                             const std::optional<store::Cursor>& cursor, store::QueryBudget& budget) {
  if (holding_.load()) {
    {
      std::lock_guard lock(mutex_);
      ++held_;
    }
    changed_.notify_all();
    Result<> state;
    while (holding_.load() && (state = budget.check())) std::this_thread::yield();
    std::lock_guard lock(mutex_);
    --held_;
    if (!state) return state.error();
  }
  return MemoryStore::slowest(filter, by, limit, cursor, budget);
}

void SampleStore::wait_until_held(size_t queries) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return held_ >= queries; });
}

store::StoreStats SampleStore::stats() {
  store::StoreStats stats = MemoryStore::stats();
  stats.writable = writable.load();
  stats.disk_bytes = 123'456;
  stats.segments = 3;
  stats.spans_unsealed = 7;
  return stats;
}

}  // namespace fathom::query::testing

// SampleStore: a SpanStore with known content for tests, whose queries can be held, failed and watched.
//
// Content: kTraces traces a second apart from kSampleStart on, trace n of (n + 1) * 10 ms: a root of "gateway", a child
// of "catalog" that fails in every third. Thread safety: all of it. Ownership: owns the store it wraps.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>

#include "base/time.h"
#include "store/model/memory_store.h"

namespace fathom::query::testing {

inline constexpr uint64_t kSampleStart = 1'795'221'000'000'000'000;     // 2026-11-21T00:30:00Z
inline constexpr uint64_t kAfterSample = kSampleStart + kNanosPerHour;  // nothing of the content begins here or later
inline constexpr uint64_t kTraces = 30;
inline constexpr uint64_t kMilli = 1'000'000;

TraceId sample_trace_id(uint64_t n);
SpanId sample_span_id(uint64_t n);

class SampleStore : public store::MemoryStore {
 public:
  SampleStore();

  // Adds one span of a trace of its own.
  void add(const store::SpanView& span, std::span<const store::AttributeView> resource);

  Result<store::SlowPage> slowest(const store::Filter& filter, store::By by, size_t limit,
                                  const std::optional<store::Cursor>& cursor, store::QueryBudget& budget) override;
  store::StoreStats stats() override;
  std::vector<store::Loss> losses() override { return lost; }

  // From now on slowest() waits until its budget ends it, or release().
  void hold() { holding_.store(true); }
  void release() { holding_.store(false); }
  void wait_until_held(size_t queries);  // so many wait now

  std::atomic<bool> writable{true};
  std::vector<store::Loss> lost;  // set before the first query

 private:
  std::atomic<bool> holding_{false};
  std::mutex mutex_;
  std::condition_variable changed_;
  size_t held_ = 0;
};

}  // namespace fathom::query::testing

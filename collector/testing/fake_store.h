// FakeStore: a SpanStore that records what is appended, and answers as a test tells it, when the test tells it.
#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <utility>
#include <vector>

#include "store/span_store.h"

namespace fathom::collector::testing {

class FakeStore : public store::SpanStore {
 public:
  using AppendDone = std::function<void(store::AppendResult)>;

  // The next appends get these, one each; later ones are durable.
  void script(std::vector<store::AppendResult> results) {
    std::lock_guard lock(mutex_);
    script_.assign(results.begin(), results.end());
  }
  // Until release(), appends are recorded and not answered.
  void hold() {
    std::lock_guard lock(mutex_);
    holding_ = true;
  }
  void release() {
    std::vector<std::pair<AppendDone, store::AppendResult>> held;
    {
      std::lock_guard lock(mutex_);
      holding_ = false;
      held.swap(held_);
    }
    for (auto& [done, result] : held) done(result);
  }
  void wait_for_batches(size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return batches_.size() >= count; });
  }
  std::vector<store::BatchPtr> batches() {
    std::lock_guard lock(mutex_);
    return batches_;
  }
  size_t spans() {
    size_t total = 0;
    for (const store::BatchPtr& batch : batches()) total += batch->rows().size();
    return total;
  }

  void append(store::BatchPtr batch, AppendDone done) override {
    store::AppendResult result;
    {
      std::lock_guard lock(mutex_);
      batches_.push_back(std::move(batch));
      changed_.notify_all();
      if (!script_.empty()) {
        result = script_.front();
        script_.pop_front();
      }
      if (holding_) return held_.emplace_back(std::move(done), result), void();
    }
    done(result);
  }

  Result<store::SlowPage> slowest(const store::Filter&, store::By, size_t, const std::optional<store::Cursor>&,
                                  store::QueryBudget&) override {
    return no_queries();
  }
  Result<std::vector<store::SlowRow>> find(const store::Filter&, store::By, size_t, store::QueryBudget&) override {
    return no_queries();
  }
  Result<store::StoredTrace> trace_page(const TraceId&, const std::optional<store::TraceCursor>&, size_t,
                                        store::QueryBudget&) override {
    return no_queries();
  }
  Result<std::vector<TraceId>> trace_ids(const store::TraceIdRange&, size_t, store::QueryBudget&) override {
    return no_queries();
  }
  Result<std::vector<store::OperationStats>> operations(const store::TimeRange&, const std::optional<std::string>&,
                                                        store::QueryBudget&) override {
    return no_queries();
  }
  Result<std::vector<std::string>> attribute_keys(const store::TimeRange&, store::QueryBudget&) override {
    return no_queries();
  }
  Result<std::vector<store::ValueCount>> attribute_values(const store::TimeRange&, const std::string&,
                                                          const std::string&, size_t, store::QueryBudget&) override {
    return no_queries();
  }
  Result<std::vector<store::LatencyPoint>> latency(const store::TimeRange&, const std::optional<std::string>&,
                                                   const std::optional<std::string>&, uint64_t,
                                                   store::QueryBudget&) override {
    return no_queries();
  }
  Result<std::optional<uint64_t>> first_start(const store::TimeRange&, store::QueryBudget&) override {
    return no_queries();
  }
  Result<> visit_times(const store::Filter&, const store::VisitTimes&, store::QueryBudget&) override {
    return no_queries();
  }
  Result<uint64_t> spans_at_most(const store::TimeRange&, store::QueryBudget&) override { return no_queries(); }
  Result<store::SampleCount> sample(const store::Filter&, const store::SampleLimits&, const store::VisitSpan&,
                                    store::QueryBudget&) override {
    return no_queries();
  }
  Result<store::CallSample> calls(const store::TimeRange&, uint64_t, store::QueryBudget&) override {
    return no_queries();
  }
  Result<> drop_before(uint64_t) override { return {}; }
  store::StoreStats stats() override { return {}; }
  Result<> settle() override { return {}; }

 private:
  static Error no_queries() { return {ErrorCode::kUnsupported, "the fake store answers no queries"}; }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool holding_ = false;
  std::deque<store::AppendResult> script_;
  std::vector<store::BatchPtr> batches_;
  std::vector<std::pair<AppendDone, store::AppendResult>> held_;
};

}  // namespace fathom::collector::testing

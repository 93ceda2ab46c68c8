// The contract of SpanStore as one test suite, run on every engine.
//
// Purpose: what span_store.h promises, said in examples. A new engine instantiates StoreContract with its factory. Most
// examples are checked in every state that data can be in: just acknowledged, sealed, and read again after a restart.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "store/span_store.h"
#include "store/testing/contract_harness.h"
#include "store/testing/span_builder.h"

namespace fathom::store::testing {

class StoreContract : public ::testing::TestWithParam<StoreFactory> {
 protected:
  void SetUp() override { start({}); }

  // Begins again with an empty store.
  void start(const HarnessOptions& options) { harness_ = GetParam().make(options); }
  Harness& harness() { return *harness_; }
  SpanStore& store() { return harness_->store(); }

  // Stores one batch; anything but durable fails the test.
  void add(const std::vector<TestSpan>& spans, std::optional<ClockOffset> clock = std::nullopt);
  // Checks now, after settle(), and after a restart.
  void always(const std::function<void()>& check);

  SlowPage page(const Filter& filter, By by, size_t limit, const std::optional<Cursor>& cursor = std::nullopt);
  std::vector<SlowRow> slowest(const Filter& filter = {}, By by = By::kTrace, size_t limit = 1000);
  std::vector<SlowRow> find(const Filter& filter = {}, By by = By::kTrace, size_t limit = 1000);
  // Rows as "trace:span", in their order.
  std::vector<std::string> slowest_ids(const Filter& filter = {}, By by = By::kTrace) {
    return ids(slowest(filter, by));
  }
  static std::vector<std::string> ids(const std::vector<SlowRow>& rows);
  // The only row; fails the test when there are more or none.
  SlowRow only_row(const Filter& filter = {}, By by = By::kTrace);

  StoredTrace trace(uint64_t number);
  bool is_stored(uint64_t trace_number);
  std::vector<OperationStats> operations(const TimeRange& range = {},
                                         const std::optional<std::string>& service = std::nullopt);
  std::vector<LatencyPoint> latency(const TimeRange& range, uint64_t step_nano,
                                    const std::optional<std::string>& service = std::nullopt,
                                    const std::optional<std::string>& operation = std::nullopt);

 private:
  std::unique_ptr<Harness> harness_;
};

using Ids = std::vector<std::string>;

inline Filter in_range(uint64_t from_unix_nano, uint64_t to_unix_nano) {
  Filter filter;
  filter.range = {from_unix_nano, to_unix_nano};
  return filter;
}
inline Filter in_service(std::string service) {
  Filter filter;
  filter.service = std::move(service);
  return filter;
}

inline std::string factory_name(const ::testing::TestParamInfo<StoreFactory>& info) {
  return info.param.name;
}

}  // namespace fathom::store::testing

#include "store/testing/contract.h"

namespace fathom::store::testing {

namespace {

template <typename T>
T unwrap(Result<T> result) {
  if (!result) {
    ADD_FAILURE() << error_code_name(result.error().code) << ": " << result.error().message;
    return {};
  }
  return std::move(result).value();
}

}  // namespace

void StoreContract::add(const std::vector<TestSpan>& spans, std::optional<ClockOffset> clock) {
  AppendResult result = append_and_wait(store(), make_batch(spans, clock));
  ASSERT_EQ(result.outcome, AppendOutcome::kDurable) << result.message;
  ASSERT_FALSE(result.duplicate);
}

void StoreContract::always(const std::function<void()>& check) {
  {
    SCOPED_TRACE("just acknowledged");
    check();
  }
  {
    SCOPED_TRACE("settled");
    Result<> settled = store().settle();
    ASSERT_TRUE(settled.ok()) << settled.error().message;
    check();
  }
  SCOPED_TRACE("opened again");
  harness().reopen();
  check();
}

SlowPage StoreContract::page(const Filter& filter, By by, size_t limit, const std::optional<Cursor>& cursor) {
  QueryBudget budget;
  return unwrap(store().slowest(filter, by, limit, cursor, budget));
}

std::vector<SlowRow> StoreContract::slowest(const Filter& filter, By by, size_t limit) {
  return page(filter, by, limit).rows;
}

std::vector<SlowRow> StoreContract::find(const Filter& filter, By by, size_t limit) {
  QueryBudget budget;
  return unwrap(store().find(filter, by, limit, budget));
}

std::vector<std::string> StoreContract::ids(const std::vector<SlowRow>& rows) {
  std::vector<std::string> out;
  for (const SlowRow& row : rows) {
    out.push_back(std::to_string(number_of(row.trace_id)) + ":" + std::to_string(number_of(row.span_id)));
  }
  return out;
}

SlowRow StoreContract::only_row(const Filter& filter, By by) {
  std::vector<SlowRow> rows = slowest(filter, by);
  EXPECT_EQ(rows.size(), 1u);
  return rows.empty() ? SlowRow() : rows.front();
}

StoredTrace StoreContract::trace(uint64_t number) {
  QueryBudget budget;
  return unwrap(store().trace(test_trace_id(number), budget));
}

bool StoreContract::is_stored(uint64_t trace_number) {
  QueryBudget budget;
  Result<StoredTrace> found = store().trace(test_trace_id(trace_number), budget);
  EXPECT_TRUE(found.ok() || found.error().code == ErrorCode::kNotFound);
  return found.ok();
}

std::vector<OperationStats> StoreContract::operations(const TimeRange& range,
                                                      const std::optional<std::string>& service) {
  QueryBudget budget;
  return unwrap(store().operations(range, service, budget));
}

std::vector<LatencyPoint> StoreContract::latency(const TimeRange& range, uint64_t step_nano,
                                                 const std::optional<std::string>& service,
                                                 const std::optional<std::string>& operation) {
  QueryBudget budget;
  return unwrap(store().latency(range, service, operation, step_nano, budget));
}

}  // namespace fathom::store::testing

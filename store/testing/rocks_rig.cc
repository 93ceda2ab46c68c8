#include "store/testing/rocks_rig.h"

#include <chrono>
#include <cstdlib>
#include <future>
#include <thread>

#include <gtest/gtest.h>

#include "base/metrics.h"
#include "base/testing/repetitions.h"

namespace fathom::store::testing {

RocksRig::RocksRig(RocksOptions options) : options_(std::move(options)) {
  options_.path = directory_ / "data";
  options_.env = env_.get();
  options_.read_clocks = clocks_.reader();
  options_.cache_bytes = 8 << 20;
  if (options_.reserve_disk_bytes == RocksOptions().reserve_disk_bytes) options_.reserve_disk_bytes = 0;
}

RocksRig::~RocksRig() = default;

std::string RocksRig::open() {
  Result<std::unique_ptr<RocksStore>> opened = RocksStore::open(options_);
  if (!opened) return opened.error().message;
  store_ = std::move(*opened);
  return "";
}

std::string RocksRig::reopen() {
  close();
  return open();
}

std::string RocksRig::cut_power(std::optional<uint64_t> torn_seed) {
  disk_->crash();
  close();
  disk_->restart(torn_seed);
  return open();
}

AppendResult append_once(SpanStore& store, BatchPtr batch) {
  std::promise<AppendResult> promise;
  auto done = [&](AppendResult answer) { promise.set_value(std::move(answer)); };
  const bool here = batch->identity().low % 2 == 0;
  here ? store.append_here(std::move(batch), done, [] {}) : store.append(std::move(batch), done);
  return promise.get_future().get();
}

std::optional<StoredTrace> stored_trace(SpanStore& store, uint64_t number) {
  QueryBudget budget;
  Result<StoredTrace> trace = store.trace(test_trace_id(number), budget);
  if (trace.ok()) return std::move(*trace);
  EXPECT_EQ(trace.error().code, ErrorCode::kNotFound) << trace.error().message;
  return std::nullopt;
}

uint64_t counted_spans(SpanStore& store) {
  QueryBudget budget;
  Result<std::vector<OperationStats>> operations = store.operations({}, std::nullopt, budget);
  EXPECT_TRUE(operations.ok());
  uint64_t spans = 0;
  if (operations.ok()) {
    for (const OperationStats& operation : *operations) spans += operation.spans;
  }
  return spans;
}

bool eventually(const std::function<bool()>& condition) {
  auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(3);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    // Whoever brings it about has the processor meanwhile.
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

uint64_t metric(const std::string& series) {
  std::string text = "\n" + render_metrics();
  size_t found = text.find("\n" + series + " ");
  return found == std::string::npos ? 0 : std::strtoull(text.c_str() + found + series.size() + 2, nullptr, 10);
}

uint64_t seeds(uint64_t ordinary) {
  const char* wanted = std::getenv("FATHOM_SEEDS");
  return wanted != nullptr ? std::strtoull(wanted, nullptr, 10) : repetitions(ordinary);
}

}  // namespace fathom::store::testing

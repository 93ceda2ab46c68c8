#include "store/testing/contract_harness.h"

#include <future>

#include "store/model/memory_store.h"

namespace fathom::store::testing {

namespace {

class ModelHarness : public Harness {
 public:
  explicit ModelHarness(const HarnessOptions& options)
      : store_({options.operations_per_service, options.trace_spans, clock()}) {}
  SpanStore& store() override { return store_; }
  void reopen() override {}

 private:
  MemoryStore store_;
};

}  // namespace

StoreFactory model_factory() {
  return {"Model", [](const HarnessOptions& options) { return std::make_unique<ModelHarness>(options); }};
}

AppendResult append_and_wait(SpanStore& store, BatchPtr batch) {
  AppendResult result;
  for (int attempt = 0; attempt < 100; ++attempt) {
    std::promise<AppendResult> promise;
    auto done = [&](AppendResult answer) { promise.set_value(std::move(answer)); };
    const bool here = batch->identity().low % 2 == 0;
    here ? store.append_here(batch, done, [] {}) : store.append(batch, done);
    result = promise.get_future().get();
    if (result.outcome != AppendOutcome::kRetryable) break;
    // Whatever the store is behind with, it has done after this.
    if (Result<> settled = store.settle(); !settled) break;
  }
  return result;
}

}  // namespace fathom::store::testing

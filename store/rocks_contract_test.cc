// The contract, and random sequences against the model, on RocksStore: with small segments, so that traces grow over
// many of them, and with segments of ordinary size.
#include <cstdlib>

#include "base/testing/temp_directory.h"
#include "store/rocks/rocks_store.h"
#include "store/testing/contract.h"
#include "store/testing/random_ops.h"
#include "store/testing/rocks_rig.h"

namespace fathom::store::testing {

namespace {

class RocksHarness : public Harness {
 public:
  RocksHarness(const HarnessOptions& options, size_t segment_spans) : segment_spans_(segment_spans), limits_(options) {
    open();
  }
  SpanStore& store() override { return *store_; }
  void reopen() override {
    store_.reset();
    open();
  }

 private:
  void open() {
    RocksOptions options;
    options.path = directory_ / "data";
    options.durability = Durability::kOs;  // what fsync adds is tested where power cuts are
    options.segment_spans = segment_spans_;
    options.operations_per_service = static_cast<uint32_t>(limits_.operations_per_service);
    options.oversized.spans = limits_.trace_spans;
    options.cache_bytes = 8 << 20;
    options.reserve_disk_bytes = 0;
    options.read_clocks = [now = clock()] { return ClockReading{"boot", now(), now()}; };
    Result<std::unique_ptr<RocksStore>> opened = RocksStore::open(std::move(options));
    // Without a store no test can go on, and a harness has no other way to say so.
    if (!opened) {
      std::fprintf(stderr, "cannot open the store: %s\n", opened.error().message.c_str());
      std::abort();
    }
    store_ = std::move(*opened);
  }

  const size_t segment_spans_;
  const HarnessOptions limits_;
  TempDirectory directory_;
  std::unique_ptr<RocksStore> store_;
};

StoreFactory rocks_factory(const std::string& name, size_t segment_spans) {
  return {name, [segment_spans](const HarnessOptions& options) {
            return std::make_unique<RocksHarness>(options, segment_spans);
          }};
}

StoreFactory small_segment_factory() {
  return rocks_factory("RocksSmallSegments", 50);
}
StoreFactory ordinary_segment_factory() {
  return rocks_factory("RocksOrdinarySegments", RocksOptions().segment_spans);
}

TEST(RocksRandomOps, EqualsTheModelInSmallSegments) {
  for (uint64_t seed = 1; seed <= seeds(10); ++seed) {
    std::optional<std::string> difference = compare_stores(model_factory(), small_segment_factory(), seed, 150);
    ASSERT_FALSE(difference) << *difference;
  }
}

TEST(RocksRandomOps, EqualsTheModelInOrdinarySegments) {
  for (uint64_t seed = 1001; seed <= 1000 + seeds(5); ++seed) {
    std::optional<std::string> difference = compare_stores(model_factory(), ordinary_segment_factory(), seed, 150);
    ASSERT_FALSE(difference) << *difference;
  }
}

}  // namespace

INSTANTIATE_TEST_SUITE_P(RocksEngines, StoreContract, ::testing::Values(small_segment_factory()), factory_name);

}  // namespace fathom::store::testing

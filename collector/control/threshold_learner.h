// ThresholdLearner: what is usual of each operation, learnt from every span, and from when on a span is not.
//
// The rule: an operation's threshold is max(2 x tail, tail + 1 ms, floor), where tail is its usual tail
// (usual_latency.h). An operation has no threshold until 100 of its spans are known. A threshold is sent again when it
// differs by more than a tenth from the last one sent, and withdrawn when the operation had no span for an hour. Cost:
// took() pays a lookup and a lock per operation of a batch, and 10 to 20 ns per span (threshold_learner_test.cc
// measures it on request). Bounds: `max_operations`, with at most 1 KiB per name and `max_name_bytes` in all, so that
// all thresholds fit into an agent's send queue; spans of further operations are not learnt from, but counted in
// fathom_limited_total{limit="threshold_operations"}. Memory: some 2 KiB per operation, 11 KiB at most. State is in
// memory; after a restart seed() restores it from the store's histograms. Thread safety: took() and seed() from any
// thread; changes() and all() from one. Units: in names.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/metrics.h"
#include "base/time.h"
#include "collector/agents/control.h"
#include "collector/control/batch_operations.h"
#include "collector/control/usual_latency.h"
#include "collector/span_observer.h"
#include "store/span_store.h"

namespace fathom::collector {

struct LearnerOptions {
  size_t max_operations = 10'000;
  size_t max_name_bytes = 4 << 20;  // of all operations: service namespaces, services and names
  uint64_t floor_nano = 1'000'000;  // no learnt threshold is less
  uint64_t unlearnt_nano = 0;       // the threshold of operations while fewer than 100 spans are known; 0: none
  uint64_t forget_after_nano = kNanosPerHour;
};

class ThresholdLearner : public SpanObserver {
 public:
  explicit ThresholdLearner(const LearnerOptions& options);

  void took(const store::Batch& batch) override;
  // Spans of before, as the store counted them; spans that are taken in meanwhile may count twice.
  void seed(const std::vector<store::OperationStats>& operations);

  // Lets time pass, and says which thresholds are new, differ, or (0) are none any more, since it was called last.
  std::vector<OperationThreshold> changes(uint64_t now_monotonic_nano);
  // All that changes() has ever said and that still holds.
  std::vector<OperationThreshold> all();

 private:
  struct Names {
    std::string_view service_namespace;
    std::string_view service;
    std::string_view operation;
    uint8_t kind = 0;
  };
  struct Operation {
    OperationThreshold told;  // with 0 until something is told
    UsualLatency latency;
    uint64_t seen_nano = 0;
    bool is_fresh = true;  // there are spans since changes() was called
  };
  struct KeyHash {
    using is_transparent = void;
    size_t operator()(std::string_view key) const;  // seeded: names are chosen by strangers
  };
  using Operations = std::unordered_map<std::string, Operation, KeyHash, std::equal_to<>>;
  struct alignas(64) Shard {
    std::mutex mutex;
    Operations operations;
  };

  // The operation, its shard locked; nothing when there is no room.
  template <typename Use>
  void with_operation(const Names& names, uint64_t spans, Use use);
  bool take_room(size_t name_bytes);
  void give_room(size_t name_bytes);
  Operation* find_or_make(Shard& shard, const std::string& key, const Names& names);
  void refresh(Shard& shard, double decay, std::vector<OperationThreshold>& changed);
  bool is_over(Operation& operation, std::vector<OperationThreshold>& changed);
  uint64_t threshold_nano(const Operation& operation) const;
  double decay_since(uint64_t now_monotonic_nano);

  const LearnerOptions options_;
  Counter& beyond_limit_;
  Gauge& known_;
  Gauge& with_threshold_;
  std::array<Shard, 16> shards_;
  std::atomic<size_t> operations_{0};
  std::atomic<size_t> name_bytes_{0};
  uint64_t now_nano_ = 0;
  uint64_t decayed_nano_ = 0;
};

}  // namespace fathom::collector

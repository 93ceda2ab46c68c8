#include "collector/control/threshold_learner.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <utility>

#include "base/hash.h"
#include "ingest/limits.h"
#include "store/batch.h"
#include "store/limited_parts.h"

namespace fathom::collector {

namespace {

constexpr double kKeptPerMinute = 0.9;
constexpr uint64_t kBeyondTailNano = 1'000'000;
constexpr double kMostSeededSpans = 1e6;  // of an operation: what comes then shall count

size_t bytes_of(const OperationThreshold& names) {
  return names.service_namespace.size() + names.service.size() + names.operation.size();
}

// A part's size before it, so that no two operations have one key.
void append_part(std::string& key, std::string_view part) {
  uint32_t size = static_cast<uint32_t>(part.size());
  key.append(reinterpret_cast<const char*>(&size), sizeof size).append(part);
}

bool differs(uint64_t threshold_nano, uint64_t told_nano) {
  uint64_t difference = threshold_nano > told_nano ? threshold_nano - told_nano : told_nano - threshold_nano;
  return difference > told_nano / 10;
}

}  // namespace

size_t ThresholdLearner::KeyHash::operator()(std::string_view key) const {
  static const uint64_t kSeed = std::random_device()();
  return hash64(key, kSeed);
}

ThresholdLearner::ThresholdLearner(const LearnerOptions& options)
    : options_(options),
      beyond_limit_(store::limited_parts("threshold_operations")),
      known_(gauge("fathom_threshold_operations", "Operations whose latency is being learnt")),
      with_threshold_(gauge("fathom_thresholds", "Operations whose threshold the agents are told")) {}

bool ThresholdLearner::take_room(size_t name_bytes) {
  size_t operations = operations_.fetch_add(1, std::memory_order_relaxed);
  size_t bytes = name_bytes_.fetch_add(name_bytes, std::memory_order_relaxed);
  if (operations < options_.max_operations && bytes + name_bytes <= options_.max_name_bytes) return true;
  give_room(name_bytes);
  return false;
}

void ThresholdLearner::give_room(size_t name_bytes) {
  operations_.fetch_sub(1, std::memory_order_relaxed);
  name_bytes_.fetch_sub(name_bytes, std::memory_order_relaxed);
}

ThresholdLearner::Operation* ThresholdLearner::find_or_make(Shard& shard, const std::string& key, const Names& names) {
  if (auto found = shard.operations.find(key); found != shard.operations.end()) return &found->second;
  if (!take_room(names.service_namespace.size() + names.service.size() + names.operation.size())) return nullptr;
  Operation& made = shard.operations[key];
  made.told = {std::string(names.service_namespace), std::string(names.service), std::string(names.operation),
               names.kind, 0};
  return &made;
}

template <typename Use>
void ThresholdLearner::with_operation(const Names& names, uint64_t spans, Use use) {
  if (std::max({names.service_namespace.size(), names.service.size(), names.operation.size()}) >
      ingest::kMostNameBytes) {
    return beyond_limit_.add(spans);
  }
  thread_local std::string key;
  key.assign(1, static_cast<char>(names.kind));
  for (std::string_view part : {names.service_namespace, names.service, names.operation}) append_part(key, part);
  // The map's buckets have the hash's low bits.
  Shard& shard = shards_[KeyHash()(key) >> 60];
  std::lock_guard lock(shard.mutex);
  Operation* operation = find_or_make(shard, key, names);
  if (operation == nullptr) return beyond_limit_.add(spans);
  operation->is_fresh = true;
  use(operation->latency);
}

void ThresholdLearner::took(const store::Batch& batch) {
  thread_local BatchOperations grouped;
  grouped.group(batch);
  for (const BatchOperations::Operation& operation : grouped.operations()) {
    const store::ResourceView& resource = batch.resource(operation.resource);
    Names names{store::service_namespace(resource), store::service_name(resource), batch.strings()[operation.name],
                static_cast<uint8_t>(operation.kind)};
    auto buckets = grouped.buckets(operation);
    with_operation(names, buckets.size(), [&](UsualLatency& latency) {
      for (uint16_t bucket : buckets) latency.add(bucket);
    });
  }
}

void ThresholdLearner::seed(const std::vector<store::OperationStats>& operations) {
  for (const store::OperationStats& stats : operations) {
    const store::OperationKey& of = stats.key;
    if (of.operation == store::kOtherOperation) continue;  // no operation, but all that found no room
    Names names{of.service_namespace, of.service, of.operation, static_cast<uint8_t>(of.kind)};
    double scale =
        std::min(1.0, kMostSeededSpans / static_cast<double>(std::max<uint64_t>(stats.durations.count(), 1)));
    with_operation(names, stats.spans, [&](UsualLatency& latency) {
      for (auto [bucket, count] : stats.durations.buckets()) {
        uint64_t middle_nano = store::Histogram::bucket_middle_nano(bucket);
        latency.seed(DecayedHistogram::bucket_of(middle_nano), static_cast<float>(scale * static_cast<double>(count)));
      }
    });
  }
}

// Whole minutes' worth; what is left of them counts later.
double ThresholdLearner::decay_since(uint64_t now_monotonic_nano) {
  now_nano_ = now_monotonic_nano;
  if (decayed_nano_ == 0) decayed_nano_ = now_nano_;
  uint64_t minutes = (now_nano_ - decayed_nano_) / kNanosPerMinute;
  decayed_nano_ += minutes * kNanosPerMinute;
  return std::pow(kKeptPerMinute, static_cast<double>(minutes));
}

uint64_t ThresholdLearner::threshold_nano(const Operation& operation) const {
  if (!operation.latency.is_known()) return options_.unlearnt_nano;
  const uint64_t tail_nano = operation.latency.tail_nano();
  return std::max({2 * tail_nano, tail_nano + kBeyondTailNano, options_.floor_nano});
}

// Brings the operation up to date; true when it is to be forgotten.
bool ThresholdLearner::is_over(Operation& operation, std::vector<OperationThreshold>& changed) {
  if (std::exchange(operation.is_fresh, false) || operation.seen_nano == 0) operation.seen_nano = now_nano_;
  bool over = now_nano_ - operation.seen_nano >= options_.forget_after_nano;
  uint64_t threshold = over ? 0 : threshold_nano(operation);
  if (!differs(threshold, operation.told.threshold_nano)) return over;
  with_threshold_.add(int{threshold > 0} - int{operation.told.threshold_nano > 0});
  operation.told.threshold_nano = threshold;
  changed.push_back(operation.told);
  return over;
}

void ThresholdLearner::refresh(Shard& shard, double decay, std::vector<OperationThreshold>& changed) {
  std::lock_guard lock(shard.mutex);
  for (auto at = shard.operations.begin(); at != shard.operations.end();) {
    if (decay < 1) at->second.latency.fade(decay);
    bool over = is_over(at->second, changed);
    if (over) give_room(bytes_of(at->second.told));
    at = over ? shard.operations.erase(at) : std::next(at);
  }
}

std::vector<OperationThreshold> ThresholdLearner::changes(uint64_t now_monotonic_nano) {
  double decay = decay_since(now_monotonic_nano);
  std::vector<OperationThreshold> changed;
  for (Shard& shard : shards_) refresh(shard, decay, changed);
  known_.set(static_cast<int64_t>(operations_.load()));
  return changed;
}

std::vector<OperationThreshold> ThresholdLearner::all() {
  std::vector<OperationThreshold> told;
  // Without names: of all operations of which nothing else is said, those of which there was no span yet.
  if (options_.unlearnt_nano > 0) told.push_back({.threshold_nano = options_.unlearnt_nano});
  for (Shard& shard : shards_) {
    std::lock_guard lock(shard.mutex);
    for (const auto& [key, operation] : shard.operations) {
      if (operation.told.threshold_nano > 0) told.push_back(operation.told);
    }
  }
  return told;
}

}  // namespace fathom::collector

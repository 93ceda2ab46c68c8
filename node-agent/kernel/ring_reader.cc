#include "node-agent/kernel/ring_reader.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>

namespace fathom::agent::kernel {

namespace {

constexpr uint64_t kBatch = 64;
constexpr size_t kWords = sizeof(Record) / sizeof(uint64_t);

// The sequence first, and with acquire: whoever sees it sees the rest of that record, or of a later one.
void copy_record(const Record& from, Record& to) {
  const auto* words = reinterpret_cast<const uint64_t*>(&from);
  auto* copies = reinterpret_cast<uint64_t*>(&to);
  copies[0] = __atomic_load_n(words, __ATOMIC_ACQUIRE);
  for (size_t i = 1; i < kWords; ++i) copies[i] = __atomic_load_n(words + i, __ATOMIC_RELAXED);
}

class Reading {
 public:
  Reading(const RingView& ring, uint64_t begin_nano, const RecordSink& sink)
      : ring_(ring), enough_nano_(begin_nano - std::min(begin_nano, kDisorderNano)), sink_(sink) {}

  RingLosses run() {
    const uint64_t end = reserved();
    const uint64_t first = first_ = oldest_at(end);
    bool more = true;
    for (uint64_t at = end; more && at > first_;) {
      const uint64_t count = std::min(kBatch, at - first_);
      at -= count;
      more = take(at, count);
    }
    if (!more || first_ == 0) return losses_;
    losses_.overwritten = first_ - first;
    losses_.complete_from_nano = oldest_nano_;
    return losses_;
  }

 private:
  uint64_t reserved() const { return __atomic_load_n(&ring_.header->reserved, __ATOMIC_ACQUIRE); }
  uint64_t oldest_at(uint64_t reserved) const { return reserved - std::min(reserved, ring_.capacity); }

  // Records [at, at + count), counted from 0. False: the rest is older than what is wanted.
  bool take(uint64_t at, uint64_t count) {
    for (uint64_t i = 0; i < count; ++i) copy_record(ring_.records[(at + i) & (ring_.capacity - 1)], batch_[i]);
    std::atomic_thread_fence(std::memory_order_acquire);
    first_ = std::max(first_, std::min(oldest_at(reserved()), at + count));
    for (uint64_t i = count; i-- > 0;) {
      if (at + i < first_) return true;
      if (!hand_over(batch_[i], at + i)) return false;
    }
    return true;
  }

  bool hand_over(const Record& record, uint64_t at) {
    if (record.sequence != at + 1) {
      ++losses_.torn;
      return true;
    }
    oldest_nano_ = record.monotonic_nano;
    if (record.monotonic_nano < enough_nano_) return false;
    sink_(record);
    return true;
  }

  const RingView& ring_;
  const uint64_t enough_nano_;
  const RecordSink& sink_;
  std::array<Record, kBatch> batch_{};
  uint64_t first_ = 0;                 // the oldest that can still be had
  uint64_t oldest_nano_ = UINT64_MAX;  // of those that could be read
  RingLosses losses_;
};

}  // namespace

RingLosses read_ring(const RingView& ring, uint64_t begin_nano, const RecordSink& sink) {
  return Reading(ring, begin_nano, sink).run();
}

}  // namespace fathom::agent::kernel

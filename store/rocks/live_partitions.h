// Which partitions still exist: asked by the trace index's compaction filter, told by retention.
//
// Thread safety: all of it. Partitions are numbered upwards and dropped from the oldest on.
#pragma once

#include <atomic>
#include <cstdint>

namespace fathom::store {

class LivePartitions {
 public:
  bool is_live(uint32_t partition) const { return partition >= oldest_.load(std::memory_order_acquire); }
  uint32_t oldest() const { return oldest_.load(std::memory_order_acquire); }
  // From here on until set_corrected(), summaries of traces that lost spans with the dropped partitions are outdated.
  void set_oldest(uint32_t partition) {
    are_corrected_.store(false, std::memory_order_release);
    oldest_.store(partition, std::memory_order_release);
  }
  void set_corrected() { are_corrected_.store(true, std::memory_order_release); }
  bool are_corrected() const { return are_corrected_.load(std::memory_order_acquire); }

 private:
  std::atomic<uint32_t> oldest_{0};
  std::atomic<bool> are_corrected_{true};
};

}  // namespace fathom::store

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
  void set_oldest(uint32_t partition) { oldest_.store(partition, std::memory_order_release); }

 private:
  std::atomic<uint32_t> oldest_{0};
};

}  // namespace fathom::store

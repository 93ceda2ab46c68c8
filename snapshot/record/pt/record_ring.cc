#include "snapshot/record/pt/record_ring.h"

#include <algorithm>
#include <cstring>

#include "snapshot/record/pt/obstacles.h"

namespace fathom::snapshot {

Result<RecordRing> RecordRing::map(PerfSystem& system, int event, uint64_t bytes) {
  const MappedBytes mapped = system.map(event, kPerfPageBytes + bytes, 0, true);
  if (mapped.at == nullptr) return explain_map(system, mapped.error, bytes, "a ring of perf's records");
  RecordRing ring;
  ring.area_ = PerfArea(system, mapped.at, kPerfPageBytes + bytes);
  ring.ring_bytes_ = bytes;
  return ring;
}

bool RecordRing::empty() const {
  return __atomic_load_n(&page().data_head, __ATOMIC_ACQUIRE) == tail_;
}

uint64_t RecordRing::room() const {
  const uint64_t held = __atomic_load_n(&page().data_head, __ATOMIC_ACQUIRE) - tail_;
  return ring_bytes_ - std::min(held, ring_bytes_);
}

std::string_view RecordRing::bytes_at(uint64_t offset, uint64_t bytes) {
  const char* ring = reinterpret_cast<const char*>(area_.data()) + kPerfPageBytes;
  const uint64_t at = offset & (ring_bytes_ - 1);
  const uint64_t until_end = ring_bytes_ - at;
  if (bytes <= until_end) return {ring + at, bytes};
  straddling_.assign(ring + at, until_end);
  straddling_.append(ring, bytes - until_end);
  return straddling_;
}

Result<> RecordRing::drain_to(uint64_t head, const std::function<void(std::string_view)>& each) {
  while (tail_ != head) {
    perf_event_header header;
    if (head - tail_ < sizeof header) return corrupt("a ring of perf's records ends within a record");
    std::memcpy(&header, bytes_at(tail_, sizeof header).data(), sizeof header);
    if (header.size < sizeof header || header.size > head - tail_)
      return corrupt("a record of perf has an impossible size of " + std::to_string(header.size) + " bytes");
    each(bytes_at(tail_, header.size));
    tail_ += header.size;
  }
  return {};
}

Result<> RecordRing::drain(const std::function<void(std::string_view)>& each) {
  const uint64_t head = __atomic_load_n(&page().data_head, __ATOMIC_ACQUIRE);
  Result<> drained =
      head - tail_ <= ring_bytes_ ? drain_to(head, each) : corrupt("a ring of perf's records holds more than its size");
  tail_ = head;
  __atomic_store_n(&page().data_tail, tail_, __ATOMIC_RELEASE);
  return drained;
}

Timing RecordRing::conversion() const {
  Timing timing;
  const perf_event_mmap_page& shared = page();
  uint32_t before;
  do {
    before = __atomic_load_n(&shared.lock, __ATOMIC_ACQUIRE);
    timing.conversion_zero_nano = shared.time_zero;
    timing.conversion_mult = shared.cap_user_time_zero ? shared.time_mult : 0;
    timing.conversion_shift = shared.time_shift;
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
  } while (__atomic_load_n(&shared.lock, __ATOMIC_RELAXED) != before);
  return timing.conversion_mult == 0 ? Timing{} : timing;
}

}  // namespace fathom::snapshot

#include "snapshot/record/pt/aux_area.h"

#include <algorithm>

#include "snapshot/record/pt/obstacles.h"

namespace fathom::snapshot {

Result<AuxArea> AuxArea::map(PerfSystem& system, int event, perf_event_mmap_page& page, uint64_t record_bytes,
                             uint64_t bytes) {
  page.aux_offset = kPerfPageBytes + record_bytes;
  page.aux_size = bytes;
  // Read-only is what makes it overwrite.
  const MappedBytes mapped = system.map(event, bytes, page.aux_offset, false);
  if (mapped.at == nullptr) return explain_map(system, mapped.error, bytes, "the area of Intel PT's packets");
  AuxArea area;
  area.area_ = PerfArea(system, mapped.at, bytes);
  area.page_ = &page;
  return area;
}

bool AuxArea::written_behind(uint64_t head) const {
  const uint64_t from = std::max(head, area_.size() - kPerfPageBytes);
  return std::any_of(area_.data() + from, area_.data() + area_.size(), [](uint8_t byte) { return byte != 0; });
}

RingView AuxArea::stopped() {
  const uint64_t head = __atomic_load_n(&page_->aux_head, __ATOMIC_ACQUIRE) & (area_.size() - 1);
  wrapped_ = wrapped_ || head < head_ || written_behind(head);
  head_ = head;
  const std::span<const uint8_t> all(area_.data(), area_.size());
  return {wrapped_ ? all.subspan(head) : std::span<const uint8_t>(), all.first(head)};
}

}  // namespace fathom::snapshot

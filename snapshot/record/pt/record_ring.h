// RecordRing: the ring of one event's records, which does not overwrite: what finds no room is counted by the kernel.
//
// Purpose: reading of the kernel's data ring, whole records only. Thread safety: one reader. Ownership: the mapped
// pages. Errors: kCorrupt when the ring does not hold records; it is then emptied, and reading goes on behind. Source
// of the idea: linux/perf_event.h, on data_head and data_tail.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "snapshot/format/snapshot.h"
#include "snapshot/record/pt/perf_system.h"

namespace fathom::snapshot {

class RecordRing {
 public:
  RecordRing() = default;
  // Maps the ring of an event: one page for its head, and `bytes` (a power of two).
  static Result<RecordRing> map(PerfSystem& system, int event, uint64_t bytes);

  // Calls with every record that is there; its bytes live as long as the call.
  Result<> drain(const std::function<void(std::string_view)>& each);
  bool empty() const;
  // Bytes for records until the next drain().
  uint64_t room() const;

  perf_event_mmap_page& page() const { return *reinterpret_cast<perf_event_mmap_page*>(area_.data()); }
  // The conversion from the time-stamp counter; all zero where the kernel offers none.
  Timing conversion() const;

 private:
  std::string_view bytes_at(uint64_t offset, uint64_t bytes);
  Result<> drain_to(uint64_t head, const std::function<void(std::string_view)>& each);

  PerfArea area_;
  uint64_t ring_bytes_ = 0;
  uint64_t tail_ = 0;
  std::string straddling_;  // a record around the end of the ring
};

}  // namespace fathom::snapshot

// CpuRing: everything that one CPU records into: packets, what PT says of them, and the history of processes.
//
// Purpose: one event of Intel PT with its AUX area, and one that counts nothing and brings the sideband into a ring of
// its own. Where single processes are recorded, their threads' events on one CPU share these rings. Thread safety: one
// thread. Ownership: events and areas. Errors: those of obstacles.h.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "snapshot/record/pt/aux_area.h"
#include "snapshot/record/pt/perf_system.h"
#include "snapshot/record/pt/pt_config.h"
#include "snapshot/record/pt/record_ring.h"

namespace fathom::snapshot {

struct CpuRingOptions {
  perf_event_attr pt;
  perf_event_attr sideband;
  std::string filter;
  uint64_t aux_bytes;
  uint64_t sideband_bytes;
  uint64_t aux_record_bytes;
};

class CpuRing {
 public:
  // For all that runs on `cpu`: `tids` is {-1}. `error_number` is set where an event could not be opened.
  static Result<CpuRing> open(PerfSystem& system, int32_t cpu, const std::vector<int32_t>& tids,
                              const CpuRingOptions& options, int& error_number);

  int32_t cpu() const { return cpu_; }
  int pt_event() const { return pt_.front().get(); }
  int sideband_event() const { return sideband_.front().get(); }

  // The history first, so that whoever is recorded is known.
  Result<> enable_sideband() const;
  Result<> enable() const;
  // 0 or the errno of the last that failed.
  int disable() const;
  RingView stopped() { return aux_.stopped(); }
  Result<> drain(const std::function<void(std::string_view)>& each);
  // A record of the history may have found no room since the last drain(); the kernel reports it with a later record.
  bool may_have_lost() const { return history_.room() < kLargestRecordBytes; }
  Timing conversion() const { return records_.conversion(); }

 private:
  static constexpr uint64_t kLargestRecordBytes = 8 << 10;  // a map whose file has a path of PATH_MAX

  Result<> open_thread(PerfSystem& system, int32_t tid, const CpuRingOptions& options, int& error_number);
  Result<> map_rings(PerfSystem& system, const CpuRingOptions& options);

  int32_t cpu_ = -1;
  std::vector<PerfEvent> pt_;
  std::vector<PerfEvent> sideband_;
  RecordRing records_;  // of PT: AUX, ITRACE_START
  RecordRing history_;
  AuxArea aux_;
};

}  // namespace fathom::snapshot

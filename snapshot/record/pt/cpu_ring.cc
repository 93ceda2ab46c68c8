#include "snapshot/record/pt/cpu_ring.h"

#include <cerrno>

#include "snapshot/record/pt/obstacles.h"

namespace fathom::snapshot {
namespace {

Result<PerfEvent> open_event(PerfSystem& system, const perf_event_attr& attributes, int32_t tid, int32_t cpu,
                             const std::string& what, int& error_number) {
  const int event = system.open(attributes, tid, cpu, -1);
  if (event >= 0) return PerfEvent(system, event);
  error_number = -event;
  return explain_open(system, -event, what + " on CPU " + std::to_string(cpu));
}

Result<> control_all(const std::vector<PerfEvent>& events, unsigned long request, const std::string& what) {
  for (const PerfEvent& event : events) {
    if (const int result = event.control(request); result < 0) return explain_control(-result, what);
  }
  return {};
}

}  // namespace

Result<> CpuRing::open_thread(PerfSystem& system, int32_t tid, const CpuRingOptions& options, int& error_number) {
  auto pt = open_event(system, options.pt, tid, cpu_, "Intel PT", error_number);
  if (!pt) return pt.error();
  auto sideband = open_event(system, options.sideband, tid, cpu_, "the history of processes", error_number);
  if (!sideband) return sideband.error();
  if (!options.filter.empty()) {
    if (const int set = system.set_filter(pt->get(), options.filter); set < 0)
      return explain_control(-set, "set the address filters '" + options.filter + "'");
  }
  pt_.push_back(*std::move(pt));
  sideband_.push_back(*std::move(sideband));
  if (pt_.size() == 1) return map_rings(system, options);
  for (auto [event, output] :
       {std::pair(&pt_.back(), &pt_.front()), std::pair(&sideband_.back(), &sideband_.front())}) {
    const int set = event->control(PERF_EVENT_IOC_SET_OUTPUT, static_cast<unsigned long>(output->get()));
    if (set < 0) return explain_control(-set, "record two threads into one ring");
  }
  return {};
}

Result<> CpuRing::map_rings(PerfSystem& system, const CpuRingOptions& options) {
  auto records = RecordRing::map(system, pt_event(), options.aux_record_bytes);
  if (!records) return records.error();
  auto aux = AuxArea::map(system, pt_event(), records->page(), options.aux_record_bytes, options.aux_bytes);
  if (!aux) return aux.error();
  auto history = RecordRing::map(system, sideband_event(), options.sideband_bytes);
  if (!history) return history.error();
  records_ = *std::move(records);
  aux_ = *std::move(aux);
  history_ = *std::move(history);
  return {};
}

Result<CpuRing> CpuRing::open(PerfSystem& system, int32_t cpu, const std::vector<int32_t>& tids,
                              const CpuRingOptions& options, int& error_number) {
  CpuRing ring;
  ring.cpu_ = cpu;
  for (const int32_t tid : tids) {
    int why = 0;
    auto opened = ring.open_thread(system, tid, options, why);
    // A thread that ended meanwhile is none to record.
    if (!opened && why == ESRCH && tids.size() > 1) continue;
    if (opened) continue;
    error_number = why;
    return opened.error();
  }
  if (!ring.pt_.empty()) return ring;
  error_number = ESRCH;
  return explain_open(system, ESRCH, "Intel PT");
}

Result<> CpuRing::enable_sideband() const {
  return control_all(sideband_, PERF_EVENT_IOC_ENABLE, "begin the history of processes");
}

Result<> CpuRing::enable() const {
  return control_all(pt_, PERF_EVENT_IOC_ENABLE, "begin recording");
}

int CpuRing::disable() const {
  int error = 0;
  for (const PerfEvent& event : pt_) {
    if (const int result = event.control(PERF_EVENT_IOC_DISABLE); result < 0) error = -result;
  }
  return error;
}

Result<> CpuRing::drain(const std::function<void(std::string_view)>& each) {
  auto history = history_.drain(each);
  auto records = records_.drain(each);
  return history ? records : history;
}

}  // namespace fathom::snapshot

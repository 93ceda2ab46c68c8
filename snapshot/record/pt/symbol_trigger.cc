#include "snapshot/record/pt/symbol_trigger.h"

#include <linux/hw_breakpoint.h>

#include <algorithm>
#include <cerrno>
#include <iterator>

#include "snapshot/record/pt/obstacles.h"
#include "snapshot/record/pt/proc_files.h"

namespace fathom::snapshot {
namespace {

constexpr uint64_t kTriggerRingBytes = 16 << 10;
constexpr uint64_t kResumeTickNano = 20'000;
constexpr uint64_t kResumeNano = 1'000'000;  // many of its ticks
constexpr PerfLayout kFiredLayout{PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER, true};

perf_event_attr sampling_attributes(uint32_t aux_action) {
  perf_event_attr attributes{};
  attributes.size = sizeof attributes;
  attributes.disabled = 1;
  attributes.sample_type = kFiredLayout.sample_type;
  attributes.sample_id_all = 1;
  attributes.wakeup_events = 1;
  attributes.__reserved_3 = aux_action;
  return attributes;
}

perf_event_attr breakpoint_attributes(uint64_t address, bool inherit, uint32_t aux_action) {
  perf_event_attr attributes = sampling_attributes(aux_action);
  attributes.type = PERF_TYPE_BREAKPOINT;
  attributes.bp_type = HW_BREAKPOINT_X;
  attributes.bp_addr = address;
  attributes.bp_len = sizeof(long);
  attributes.sample_period = 1;
  attributes.inherit = inherit ? 1 : 0;
  const bool in_kernel = address >> 63 != 0;
  attributes.exclude_kernel = in_kernel ? 0 : 1;
  attributes.exclude_user = in_kernel ? 1 : 0;
  return attributes;
}

perf_event_attr resumer_attributes() {
  perf_event_attr attributes = sampling_attributes(kAuxResume);
  attributes.type = PERF_TYPE_SOFTWARE;
  attributes.config = PERF_COUNT_SW_CPU_CLOCK;
  attributes.sample_period = kResumeTickNano;
  return attributes;
}

Error no_breakpoint(const PerfSystem& system, int error, int32_t cpu) {
  return explain_open(system, error, "a breakpoint on CPU " + std::to_string(cpu));
}

std::vector<int32_t> threads_to_watch(const PerfSystem& system, const std::vector<int32_t>& pids) {
  std::vector<int32_t> tids;
  for (const int32_t pid : pids) std::ranges::copy(threads_of(system, pid), std::back_inserter(tids));
  return tids;
}

}  // namespace

Result<SymbolTrigger> SymbolTrigger::arm(PerfSystem& system, const PtRecorder& recorder,
                                         const std::vector<int32_t>& pids, uint64_t address) {
  SymbolTrigger trigger;
  trigger.system_ = &system;
  trigger.timing_ = recorder.timing();
  const std::vector<int32_t> tids = threads_to_watch(system, pids);
  if (!pids.empty() && tids.empty()) return not_found("none of the processes to watch is there any more");
  for (const CpuRing& ring : recorder.rings()) {
    if (auto watched = trigger.watch(system, ring, tids, address); !watched) return watched.error();
  }
  if (auto armed = trigger.rearm(); !armed) return armed.error();
  return trigger;
}

Result<> SymbolTrigger::watch(PerfSystem& system, const CpuRing& ring, const std::vector<int32_t>& tids,
                              uint64_t address) {
  watches_.push_back({ring.cpu(), {}, {}});
  if (!tids.empty() || !open_pausing(system, ring, address)) {
    const std::vector<int32_t> everybody{-1};
    if (auto opened = open_waking(system, ring.cpu(), tids.empty() ? everybody : tids, address); !opened) return opened;
  }
  auto records = RecordRing::map(system, watches_.back().breakpoints.front().get(), kTriggerRingBytes);
  if (!records) return records.error();
  Watch& watch = watches_.back();
  watch.ring = *std::move(records);
  for (size_t i = 1; i < watch.breakpoints.size(); ++i) {
    const auto output = static_cast<unsigned long>(watch.breakpoints.front().get());
    const int set = watch.breakpoints[i].control(PERF_EVENT_IOC_SET_OUTPUT, output);
    if (set < 0) return explain_control(-set, "watch two threads by one ring");
  }
  return {};
}

// Both are of the group that Intel PT leads: that is how the kernel knows what they pause. An older one refuses.
bool SymbolTrigger::open_pausing(PerfSystem& system, const CpuRing& ring, uint64_t address) {
  const int pausing = system.open(breakpoint_attributes(address, false, kAuxPause), -1, ring.cpu(), ring.pt_event());
  if (pausing < 0) return false;
  PerfEvent breakpoint(system, pausing);
  const int resuming = system.open(resumer_attributes(), -1, ring.cpu(), ring.pt_event());
  if (resuming < 0) return false;
  watches_.back().breakpoints.push_back(std::move(breakpoint));
  resumers_.emplace_back(system, resuming);
  return true;
}

Result<> SymbolTrigger::open_waking(PerfSystem& system, int32_t cpu, const std::vector<int32_t>& tids,
                                    uint64_t address) {
  std::vector<PerfEvent>& breakpoints = watches_.back().breakpoints;
  for (const int32_t tid : tids) {
    const int event = system.open(breakpoint_attributes(address, tid >= 0, 0), tid, cpu, -1);
    if (event == -ESRCH) continue;  // it ended meanwhile
    if (event < 0) return no_breakpoint(system, -event, cpu);
    breakpoints.emplace_back(system, event);
  }
  return breakpoints.empty() ? Result<>(no_breakpoint(system, ESRCH, cpu)) : Result<>();
}

std::vector<pollfd> SymbolTrigger::poll_events() const {
  std::vector<pollfd> events;
  for (const Watch& watch : watches_) events.push_back({watch.breakpoints.front().get(), POLLIN, 0});
  return events;
}

void SymbolTrigger::disarm() {
  for (const Watch& watch : watches_) {
    for (const PerfEvent& breakpoint : watch.breakpoints) breakpoint.control(PERF_EVENT_IOC_DISABLE);
  }
}

std::optional<SymbolFired> SymbolTrigger::fired() {
  std::optional<SymbolFired> first;
  for (Watch& watch : watches_) {
    (void)watch.ring.drain([&](std::string_view bytes) {
      auto record = parse_perf_record(bytes, kFiredLayout);
      if (!record || record->type != PERF_RECORD_SAMPLE) return;
      const uint64_t tsc = tsc_of_time(timing_, record->id.time_nano.value_or(0));
      if (!first || tsc < first->tsc) first = SymbolFired{tsc, record->id.pid, record->id.tid, watch.cpu};
    });
  }
  if (first) disarm();
  return first;
}

// A pause outlives stopping and starting: only an event that says so ends it.
void SymbolTrigger::resume_paused() {
  for (const PerfEvent& resumer : resumers_) resumer.control(PERF_EVENT_IOC_ENABLE);
  if (!resumers_.empty()) system_->sleep(kResumeNano);
  for (const PerfEvent& resumer : resumers_) resumer.control(PERF_EVENT_IOC_DISABLE);
}

Result<> SymbolTrigger::rearm() {
  resume_paused();
  for (Watch& watch : watches_) {
    (void)watch.ring.drain([](std::string_view) {});
    for (const PerfEvent& breakpoint : watch.breakpoints) {
      const int enabled = breakpoint.control(PERF_EVENT_IOC_ENABLE);
      if (enabled < 0) return explain_control(-enabled, "arm a breakpoint");
    }
  }
  return {};
}

}  // namespace fathom::snapshot

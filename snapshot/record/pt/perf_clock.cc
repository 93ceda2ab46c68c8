#include "snapshot/record/pt/perf_clock.h"

#include <sys/prctl.h>

#include "snapshot/record/pt/obstacles.h"
#include "snapshot/record/pt/pt_config.h"

namespace fathom::snapshot {
namespace {

constexpr uint64_t kClockRingBytes = 4096;
constexpr uint64_t kFirstBaseNano = 50'000'000;
constexpr int kLooks = 20;  // the one that took shortest counts
constexpr uint16_t kShift = 31;

perf_event_attr own_names() {
  perf_event_attr attributes{};
  attributes.size = sizeof attributes;
  attributes.type = PERF_TYPE_SOFTWARE;
  attributes.config = PERF_COUNT_SW_DUMMY;
  attributes.comm = 1;
  attributes.exclude_kernel = 1;
  attributes.exclude_hv = 1;
  attributes.sample_type = kRecordLayout.sample_type;
  attributes.sample_id_all = 1;
  return attributes;
}

}  // namespace

Result<PerfClock> PerfClock::open(PerfSystem& system) {
  const int event = system.open(own_names(), 0, -1, -1);
  if (event < 0) return explain_open(system, -event, "the kernel's clock");
  PerfClock clock;
  clock.system_ = &system;
  clock.event_ = PerfEvent(system, event);
  auto ring = RecordRing::map(system, event, kClockRingBytes);
  if (!ring) return ring.error();
  clock.ring_ = *std::move(ring);
  clock.first_ = clock.look();
  if (clock.first_.time_nano == 0) return internal("the kernel's clock cannot be read by a record");
  system.sleep(kFirstBaseNano);
  return clock;
}

PerfClock::Moment PerfClock::look_once(uint64_t& took_ticks) {
  char name[16] = {};
  ::prctl(PR_GET_NAME, name);
  const uint64_t before = system_->tsc();
  ::prctl(PR_SET_NAME, name);
  took_ticks = system_->tsc() - before;
  Moment moment{before + took_ticks / 2, 0};
  (void)ring_.drain([&](std::string_view bytes) {
    auto record = parse_perf_record(bytes, kRecordLayout);
    if (record && record->type == PERF_RECORD_COMM) moment.time_nano = record->id.time_nano.value_or(0);
  });
  return moment;
}

PerfClock::Moment PerfClock::look() {
  Moment best;
  uint64_t shortest = UINT64_MAX;
  for (int i = 0; i < kLooks; ++i) {
    uint64_t took = 0;
    const Moment moment = look_once(took);
    if (moment.time_nano == 0 || took >= shortest) continue;
    shortest = took;
    best = moment;
  }
  return best;
}

void PerfClock::refresh(Timing& timing) {
  const Moment now = look();
  if (now.time_nano <= first_.time_nano || now.tsc <= first_.tsc) return;
  const auto elapsed = static_cast<unsigned __int128>(now.time_nano - first_.time_nano) << kShift;
  timing.conversion_mult = static_cast<uint32_t>(elapsed / (now.tsc - first_.tsc));
  timing.conversion_shift = kShift;
  // Exact at this moment, which is where windows end.
  timing.conversion_zero_nano = 0;
  timing.conversion_zero_nano = now.time_nano - time_of_tsc(timing, now.tsc);
}

}  // namespace fathom::snapshot

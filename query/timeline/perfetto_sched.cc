#include "query/timeline/perfetto_sched.h"

#include <algorithm>

namespace fathom::query {

namespace {

namespace pb = perfetto::protos;
using capture::KernelEvent;
using capture::KernelEventKind;
using capture::SwitchReason;

constexpr size_t kBundleEvents = 1000;
constexpr size_t kBundleTextBytes = 1 << 20;  // of names, beyond which a bundle ends
constexpr int32_t kPriority = 120;            // the usual one
constexpr uint64_t kSameNano = 1'000;         // one switch, seen by both of its threads through two captures

int64_t raw_state(SwitchReason reason) {
  switch (reason) {
    case SwitchReason::kPreempted:
      return 0;
    case SwitchReason::kSleeps:
      return 1;
    case SwitchReason::kUninterruptible:
      return 2;
    case SwitchReason::kStopped:
      return 4;
    case SwitchReason::kEnded:
      return 16;
  }
  return 0;
}

struct Runner {
  int32_t tid = 0;
  std::string_view name;  // not always UTF-8
};

// One event of one processor.
struct Moment {
  uint64_t unix_nano = 0;
  bool waking = false;
  Runner prev;  // of waking: who woke
  Runner next;  // who was woken
  int64_t prev_state = 1;
  bool knows_state = false;
};

using Processors = std::map<uint32_t, std::vector<Moment>>;

class Collector {
 public:
  Collector(const PerfettoNames& names, const TimelineProcess& process, Processors& out)
      : names_(names), process_(process), out_(out) {}

  void add(const TimelineThread& thread) {
    Runner self = runner(thread.tid, thread.name);
    for (const TimelineState& state : thread.states) {
      const StateInterval& interval = state.interval;
      if (interval.start != nullptr) add_switch(self, interval);
      if (interval.waker != nullptr && is_blocked(interval.state)) add_waking(self, interval);
    }
  }

 private:
  Runner runner(uint32_t tid, std::string_view name) const {
    if (tid == 0) return {0, "swapper"};
    std::string_view known = names_.thread_name(process_, tid);
    return {names_.tid_of(process_, tid), known.empty() ? name : known};
  }
  Runner other(const KernelEvent& event) const {
    return runner(static_cast<uint32_t>(event.other_tid), event.other_name);
  }
  std::vector<Moment>& processor(const KernelEvent& event) { return out_[names_.cpu_of(process_, event.cpu)]; }

  void add_switch(const Runner& self, const StateInterval& interval) {
    const KernelEvent& event = *interval.start;
    if (event.kind == KernelEventKind::kSwitchedIn) {
      processor(event).push_back({interval.begin_nano, false, other(event), self, event.other_tid == 0 ? 0 : 1, false});
    }
    if (event.kind == KernelEventKind::kSwitchedOut) {
      processor(event).push_back({interval.begin_nano, false, self, other(event), raw_state(event.reason), true});
    }
  }

  void add_waking(const Runner& self, const StateInterval& interval) {
    processor(*interval.waker).push_back({interval.end_nano, true, other(*interval.waker), self, 0, false});
  }

  const PerfettoNames& names_;
  const TimelineProcess& process_;
  Processors& out_;
};

bool same_switch(const Moment& a, const Moment& b) {
  return !a.waking && !b.waking && a.prev.tid == b.prev.tid && a.next.tid == b.next.tid &&
         b.unix_nano - a.unix_nano <= kSameNano;
}

// By time; a switch of which both threads told stands once, with the state that the one who left knows.
std::vector<Moment> in_order(std::vector<Moment> moments) {
  std::ranges::stable_sort(moments, {}, &Moment::unix_nano);
  std::vector<Moment> kept;
  for (Moment& moment : moments) {
    if (kept.empty() || !same_switch(kept.back(), moment)) {
      kept.push_back(std::move(moment));
    } else if (moment.knows_state) {
      kept.back().prev_state = moment.prev_state;
    }
  }
  return kept;
}

void write(pb::FtraceEvent& out, const Moment& moment, uint32_t cpu) {
  out.set_timestamp(moment.unix_nano);
  out.set_pid(static_cast<uint32_t>(moment.prev.tid));
  if (moment.waking) {
    auto& waking = *out.mutable_sched_waking();
    waking.set_comm(utf8(moment.next.name));
    waking.set_pid(moment.next.tid);
    waking.set_prio(kPriority);
    waking.set_success(1);
    waking.set_target_cpu(static_cast<int32_t>(cpu));
    return;
  }
  auto& change = *out.mutable_sched_switch();
  change.set_prev_comm(utf8(moment.prev.name));
  change.set_prev_pid(moment.prev.tid);
  change.set_prev_prio(kPriority);
  change.set_prev_state(moment.prev_state);
  change.set_next_comm(utf8(moment.next.name));
  change.set_next_pid(moment.next.tid);
  change.set_next_prio(kPriority);
}

// As many from `at` on as one bundle has.
size_t end_of_bundle(const std::vector<Moment>& moments, size_t at) {
  size_t texts = 0, end = at;
  for (; end < moments.size() && end - at < kBundleEvents && texts < kBundleTextBytes; ++end) {
    texts += moments[end].prev.name.size() + moments[end].next.name.size();
  }
  return end;
}

Processors collect(const Timeline& timeline, const PerfettoNames& names, Meter& meter) {
  Processors processors;
  for (const auto& process : timeline.processes) {
    Collector collector(names, process, processors);
    for (const auto& thread : process.threads) {
      if (!meter.spend(2 * thread.states.size() * sizeof(Moment))) return {};
      collector.add(thread);
    }
  }
  return processors;
}

}  // namespace

void write_scheduling(const Timeline& timeline, const PerfettoNames& names, Meter& meter,
                      const std::function<void(pb::FtraceEventBundle)>& emit) {
  for (auto& [cpu, moments] : collect(timeline, names, meter)) {
    std::vector<Moment> ordered = in_order(std::move(moments));
    for (size_t at = 0; at < ordered.size() && meter.going_on();) {
      pb::FtraceEventBundle bundle;
      bundle.set_cpu(cpu);
      for (size_t end = end_of_bundle(ordered, at); at < end; ++at) write(*bundle.add_event(), ordered[at], cpu);
      emit(std::move(bundle));
    }
  }
}

}  // namespace fathom::query

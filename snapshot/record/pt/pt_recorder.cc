#include "snapshot/record/pt/pt_recorder.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <functional>
#include <numeric>
#include <ranges>

#include "base/time.h"
#include "snapshot/format/address_filter.h"
#include "snapshot/record/pt/proc_files.h"
#include "snapshot/record/pt/system_files.h"

namespace fathom::snapshot {
namespace {

// Snapshots of one window at most reach back so far; a little more, because sideband comes later than packets.
constexpr uint64_t kFoldsPerHistory = 4;
// How far a row's time may be from the counter's: by the kernel's own conversion, or by a measured one (perf_clock.h).
constexpr uint64_t kClockMarginNano = 10'000;
constexpr uint64_t kMeasuredClockMarginNano = 100'000;

std::vector<int32_t> online_cpus(const PerfSystem& system) {
  const auto text = read_small_file(system.path("/sys/devices/system/cpu/online"));
  return parse_cpu_list(text.value_or("")).value_or(std::vector<int32_t>());
}

std::vector<int32_t> threads_to_record(const PerfSystem& system, const std::vector<int32_t>& pids) {
  if (pids.empty()) return {-1};
  std::vector<int32_t> tids;
  for (const int32_t pid : pids) {
    const std::vector<int32_t> threads = threads_of(system, pid);
    tids.insert(tids.end(), threads.begin(), threads.end());
  }
  return tids;
}

Timing timing_of(const PtPmu& pmu, const PtConfig& config) {
  Timing timing;
  timing.mtc_freq = config.mtc ? config.mtc_period : 0;
  timing.nom_freq = pmu.max_nonturbo_ratio;
  timing.cpuid_0x15_eax = pmu.cpuid_0x15_eax;
  timing.cpuid_0x15_ebx = pmu.cpuid_0x15_ebx;
  return timing;
}

void use_conversion(Timing& timing, const Timing& conversion) {
  timing.conversion_zero_nano = conversion.conversion_zero_nano;
  timing.conversion_mult = conversion.conversion_mult;
  timing.conversion_shift = conversion.conversion_shift;
}

Result<CpuRingOptions> ring_options(const PtPmu& pmu, const PtConfig& config, const PtOptions& options) {
  auto filter = filter_text(pmu, options);
  if (!filter) return filter.error();
  return CpuRingOptions{pt_attributes(pmu, config, options),
                        sideband_attributes(options),
                        *filter,
                        options.aux_bytes,
                        options.sideband_bytes,
                        options.aux_record_bytes};
}

std::string command_of(const PtOptions& options, std::optional<uint32_t> uid) {
  if (!options.command.empty()) return options.command;
  if (uid) return "the programs of user " + std::to_string(*uid);
  if (options.pids.empty()) return "the whole node";
  std::string text = "processes";
  for (const int32_t pid : options.pids) text += " " + std::to_string(pid);
  return text;
}

// The kernel goes by what a path leads to; so do the maps that it tells of.
std::string file_of(const AddressFilter& filter) {
  std::error_code failed;
  const auto resolved = std::filesystem::canonical(filter.file, failed);
  return failed ? filter.file : resolved.string();
}

void add_filters(const PtOptions& options, Snapshot& snapshot) {
  for (const AddressFilter& filter : options.filters)
    snapshot.sideband.push_back(address_filter_row(file_of(filter), filter.offset, filter.bytes));
}

std::string host_name(const PerfSystem& system) {
  return read_small_file(system.path("/proc/sys/kernel/hostname"), 256).value_or("");
}

}  // namespace

Result<std::unique_ptr<PtRecorder>> PtRecorder::arm(PerfSystem& system, const SnapshotDirectory& directory,
                                                    const PtOptions& options) {
  auto pmu = read_pt_pmu(system);
  if (!pmu) return pmu.error();
  std::unique_ptr<PtRecorder> recorder(new PtRecorder(system, directory, options));
  if (auto opened = recorder->open_rings(*pmu); !opened) return opened.error();
  if (auto begun = recorder->begin(); !begun) return begun.error();
  return recorder;
}

Result<> PtRecorder::open_rings(const PtPmu& pmu) {
  auto config = make_pt_config(pmu, options_);
  if (!config) return config.error();
  auto ring = ring_options(pmu, *config, options_);
  if (!ring) return ring.error();
  timing_ = timing_of(pmu, *config);
  cpu_ = read_cpu(system_);
  const std::vector<int32_t> tids = threads_to_record(system_, options_.pids);
  if (tids.empty()) return not_found("none of the processes to record is there any more");
  for (const int32_t cpu : online_cpus(system_)) {
    int why = 0;
    auto opened = CpuRing::open(system_, cpu, tids, *ring, why);
    if (opened)
      rings_.push_back(*std::move(opened));
    else if (why == ENODEV || why == ENXIO)
      ++cpus_offline_;  // since the list was read
    else
      return opened.error();
  }
  if (rings_.empty()) return unavailable("no CPU is online to be recorded");
  return {};
}

Result<> PtRecorder::learn_clock() {
  use_conversion(timing_, rings_.front().conversion());
  if (timing_.conversion_mult == 0) {
    auto clock = PerfClock::open(system_);
    if (!clock) return clock.error();
    measured_clock_ = *std::move(clock);
    measured_clock_->refresh(timing_);
  }
  processes_.use_timing(timing_);
  return {};
}

Result<> PtRecorder::begin() {
  if (auto learnt = learn_clock(); !learnt) return learnt;
  copy_ = std::make_unique_for_overwrite<uint8_t[]>(options_.most_snapshot_bytes);
  // What changes while /proc is read comes by a record, too.
  for (const CpuRing& ring : rings_) {
    if (auto enabled = ring.enable_sideband(); !enabled) return enabled;
  }
  processes_.scan(options_.pids);
  if (options_.kernel) processes_.copy_kernel();
  next_fold_tsc_ = system_.tsc() + ticks_of(options_.history_nano);
  return resume();
}

std::vector<pollfd> PtRecorder::poll_events() const {
  std::vector<pollfd> events;
  for (const CpuRing& ring : rings_) events.push_back({ring.sideband_event(), POLLIN, 0});
  return events;
}

// Without a conversion, ticks are taken for nanoseconds: a horizon that is too near by a small factor.
uint64_t PtRecorder::ticks_of(uint64_t nano) const {
  return timing_.conversion_mult == 0 ? nano : tsc_of_time(timing_, timing_.conversion_zero_nano + nano);
}

uint64_t PtRecorder::horizon() const {
  const uint64_t now = system_.tsc();
  return now - std::min(now, ticks_of(options_.history_nano));
}

Result<> PtRecorder::drain() {
  Result<> outcome;
  if (measured_clock_ && system_.tsc() >= next_fold_tsc_) {
    measured_clock_->refresh(timing_);
    processes_.use_timing(timing_);
  }
  for (CpuRing& ring : rings_) {
    const bool may_have_lost = ring.may_have_lost();
    auto drained = ring.drain([&](std::string_view record) { processes_.record(record, ring.cpu()); });
    if (may_have_lost || !drained) processes_.doubt(ring.cpu());
    if (outcome) outcome = drained;
  }
  processes_.drained();
  if (system_.tsc() >= next_fold_tsc_) {
    processes_.fold(horizon());
    next_fold_tsc_ = system_.tsc() + ticks_of(options_.history_nano) / kFoldsPerHistory;
  }
  return outcome;
}

void PtRecorder::stop_one(const CpuRing& ring) {
  // An event of a CPU that went offline is none any more.
  if (ring.disable() == 0)
    ++cost_.cpus;
  else
    ++cost_.cpus_offline;
}

void PtRecorder::stop(int32_t first_cpu) {
  if (stopped_) return;
  const uint64_t begin = system_.monotonic_nano();
  cost_ = {};
  first_cpu_ = first_cpu;
  const auto is_first = [&](const CpuRing& ring) { return ring.cpu() == first_cpu; };
  std::ranges::for_each(rings_ | std::views::filter(is_first), [&](const CpuRing& ring) { stop_one(ring); });
  cost_.stop_first_nano = system_.monotonic_nano() - begin;
  std::ranges::for_each(rings_ | std::views::filter(std::not_fn(is_first)),
                        [&](const CpuRing& ring) { stop_one(ring); });
  stopped_ = true;
  stopped_tsc_ = system_.tsc();
  cost_.stop_nano = system_.monotonic_nano() - begin;
}

Result<> PtRecorder::resume() {
  Result<> outcome;
  stopped_ = false;
  size_t failed = 0;
  for (const CpuRing& ring : rings_) {
    auto enabled = ring.enable();
    if (enabled) continue;
    ++failed;
    outcome = enabled;
  }
  // Those of CPUs that went offline do not keep the others from going on.
  return failed == rings_.size() ? outcome : Result<>();
}

uint64_t PtRecorder::copy_one(size_t ring, uint64_t begin_tsc, uint64_t room) {
  const RingView view = rings_[ring].stopped();
  const WindowCut cut = cut_window(view, begin_tsc, room);
  if (!cut.reaches_back) ++cost_.cpus_cut_short;
  const uint64_t bytes = view.copy(cut.begin, {copy_.get() + cost_.packet_bytes, view.size() - cut.begin});
  if (bytes > 0) copied_.push_back({ring, cost_.packet_bytes, bytes, cut.first_tsc, {{0, bytes}}});
  return bytes;
}

void PtRecorder::copy_windows(uint64_t begin_tsc) {
  const uint64_t begin = system_.monotonic_nano();
  const std::vector<int32_t> online = online_cpus(system_);
  copied_.clear();
  std::vector<size_t> order(rings_.size());
  std::iota(order.begin(), order.end(), size_t{0});
  // The trigger's has the first claim on the room.
  std::ranges::stable_partition(order, [&](size_t ring) { return rings_[ring].cpu() == first_cpu_; });
  for (const size_t ring : order) {
    if (std::ranges::find(online, rings_[ring].cpu()) == online.end()) continue;
    cost_.packet_bytes += copy_one(ring, begin_tsc, options_.most_snapshot_bytes - cost_.packet_bytes);
  }
  cost_.cpus_offline = static_cast<uint32_t>(rings_.size() - std::min(rings_.size(), online.size())) + cpus_offline_;
  cost_.copy_nano = system_.monotonic_nano() - begin;
}

Result<TakenSnapshot> PtRecorder::take(const SnapshotWindow& window, const Trigger& trigger) {
  stop(window.cpu);
  SnapshotWindow reachable = window;
  reachable.begin_tsc = std::max(window.begin_tsc, horizon());
  copy_windows(reachable.begin_tsc);
  const uint64_t copied = system_.monotonic_nano();
  auto resumed = resume();
  const uint64_t going = system_.monotonic_nano();
  cost_.resume_nano = going - copied;
  if (!resumed) return resumed.error();
  if (options_.one_user != window.uid.has_value())
    return invalid("a window of one user, exactly where one is recorded");
  (void)drain();  // what is damaged there is counted there
  Snapshot snapshot = describe(reachable, trigger);
  const uint64_t described = system_.monotonic_nano();
  cost_.describe_nano = described - going;
  auto id = write(std::move(snapshot));
  if (!id) return id.error();
  cost_.write_nano = system_.monotonic_nano() - described;
  return TakenSnapshot{*id, cost_, trigger.trace_id};
}

Snapshot PtRecorder::describe(const SnapshotWindow& window, const Trigger& trigger) {
  Snapshot snapshot;
  snapshot.engine = system_.is_stand_in() ? Engine::kStandIn : Engine::kIntelPt;
  snapshot.origin = Origin::kRecorded;
  snapshot.cpu = cpu_;
  snapshot.timing = timing_;
  snapshot.host = host_name(system_);
  snapshot.command = command_of(options_, window.uid);
  snapshot.taken_unix_nano = static_cast<int64_t>(now_unix_nano());
  snapshot.trigger = trigger;
  std::optional<OneUser> user;
  if (window.uid) user.emplace(processes_.of_user(*window.uid, window.begin_tsc));
  if (user) leave_out_others(*user, snapshot);
  uint64_t oldest = window.begin_tsc;
  for (const Copied& one : copied_) {
    snapshot.streams.push_back({.cpu = rings_[one.ring].cpu(), .pid = -1, .tid = -1, .pieces = {}});
    if (one.first_tsc != 0) oldest = std::min(oldest, one.first_tsc);
  }
  processes_.describe(snapshot, {.begin_tsc = oldest,
                                 .end_tsc = stopped_tsc_,
                                 .everybody = !options_.pids.empty(),
                                 .user = user ? &*user : nullptr});
  add_filters(options_, snapshot);
  append_loss(snapshot, "CPUs whose ring did not reach back to the window's begin", cost_.cpus_cut_short);
  append_loss(snapshot, "CPUs that were offline", cost_.cpus_offline);
  return snapshot;
}

// Where the kernel changed it since, as after a suspension, rows before and behind have different clocks.
bool PtRecorder::is_clock_constant() const {
  Timing now = timing_;
  use_conversion(now, rings_.front().conversion());
  return measured_clock_.has_value() || now == timing_;
}

void PtRecorder::leave_out_others(const OneUser& user, Snapshot& snapshot) {
  const HiddenTimes hidden = is_clock_constant() ? processes_.hidden_times(user) : HiddenTimes();
  const uint64_t margin = ticks_of(measured_clock_ ? kMeasuredClockMarginNano : kClockMarginNano);
  static const std::vector<HiddenTime> kAlways(1);
  ShownPackets all;
  for (Copied& one : copied_) {
    const auto found = hidden.find(rings_[one.ring].cpu());
    ShownPackets shown = shown_packets({copy_.get() + one.at, one.bytes},
                                       found == hidden.end() ? kAlways : found->second, stopped_tsc_, margin);
    one.shown = std::move(shown.ranges);
    all.others_bytes += shown.others_bytes;
    all.unknown_bytes += shown.unknown_bytes;
  }
  std::erase_if(copied_, [](const Copied& one) { return one.shown.empty(); });
  cost_.left_out_bytes = all.others_bytes + all.unknown_bytes;
  cost_.packet_bytes -= cost_.left_out_bytes;
  append_loss(snapshot, "bytes of packets left out while another user's process ran", all.others_bytes);
  append_loss(snapshot, "bytes of packets left out while an unknown user's process may have run", all.unknown_bytes);
}

Result<SnapshotId> PtRecorder::write(Snapshot snapshot) {
  auto draft = directory_.draft();
  if (!draft) return draft.error();
  auto writer = SnapshotWriter::begin(Fd(::open(draft->c_str(), O_RDWR | O_CLOEXEC)));
  if (!writer) return writer.error();
  for (size_t stream = 0; stream < copied_.size(); ++stream) {
    for (const PacketRange& range : copied_[stream].shown) {
      const uint8_t* bytes = copy_.get() + copied_[stream].at + range.begin;
      auto written = writer->packets(stream, range.begin, {bytes, range.end - range.begin});
      if (!written) return written.error();
    }
  }
  auto id = writer->finish(std::move(snapshot));
  if (!id) return id.error();
  if (auto published = directory_.publish(*draft, *id); !published) return published.error();
  return *id;
}

}  // namespace fathom::snapshot

#include "snapshot/record/pt/one_user.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>

#include "snapshot/record/pt/ring_view.h"

namespace fathom::snapshot {
namespace {

using Kind = ProcessOwner::Kind;

bool is_of_switch(const Sideband& row) {
  return row.kind == SidebandKind::kSwitchIn || row.kind == SidebandKind::kSwitchOut;
}

// The kernel's, or a CPU's.
bool is_of_no_process(const Sideband& row) {
  switch (row.kind) {
    case SidebandKind::kMap:
      return (row.flags & kFlagKernel) != 0;
    case SidebandKind::kLost:
    case SidebandKind::kAuxLoss:
    case SidebandKind::kKernelSymbol:
    case SidebandKind::kTextPoke:
      return true;
    default:
      return false;
  }
}

// One CPU: who ran when, as its switches tell.
class CpuTimes {
 public:
  // Whether a process's time since `since_tsc` is hidden because nobody knows whose it is; nothing: it may be shown.
  using Judge = std::function<std::optional<bool>(int32_t pid, uint64_t since_tsc)>;

  void switch_in(uint64_t tsc, int32_t before, int32_t after, const Judge& is_unknown) {
    check(before);
    finish(tsc, is_unknown);
    pid_ = after;
    since_tsc_ = tsc;
  }
  // The next switch in must name the same process as the one before.
  void check(int32_t pid) {
    if (pid_ && pid >= 0 && *pid_ != pid) lose();
  }
  // Some switch since the last one is missing.
  void lose() { pid_.reset(); }

  void finish(uint64_t tsc, const Judge& is_unknown) {
    const auto hidden = pid_ ? is_unknown(*pid_, since_tsc_) : std::optional(true);
    if (hidden) times_.push_back({since_tsc_, tsc, *hidden});
  }
  std::vector<HiddenTime> take() { return std::move(times_); }

 private:
  std::optional<int32_t> pid_;  // nothing: not known
  uint64_t since_tsc_ = 0;
  std::vector<HiddenTime> times_;
};

void lose(int32_t cpu, std::map<int32_t, CpuTimes>& cpus) {
  for (auto& [number, times] : cpus) {
    if (cpu < 0 || cpu == number) times.lose();
  }
}

// Rows of switches without those between threads of others.
class OwnSwitches {
 public:
  explicit OwnSwitches(const OneUser& user) : user_(user) {}

  // Whether the row remains, changed.
  bool keep(Sideband& row) {
    const bool is_own = user_.owns(row.pid);
    const bool other_is_own = user_.owns(row.other_pid);
    if (!other_is_own) row.other_pid = row.other_tid = -1;
    const auto [found, is_first] = others_run_.try_emplace(row.cpu, !other_is_own);
    if (is_own) {
      found->second = false;
      return true;
    }
    if (row.kind == SidebandKind::kSwitchOut || found->second) return false;
    found->second = true;
    row.pid = row.tid = 0;
    return true;
  }

 private:
  const OneUser& user_;
  std::map<int32_t, bool> others_run_;  // by CPU
};

// The first hidden time that [begin, end] touches.
const HiddenTime* first_touching(std::span<const HiddenTime> hidden, uint64_t begin, uint64_t end) {
  const auto first = std::ranges::partition_point(hidden, [&](const HiddenTime& time) { return time.end_tsc < begin; });
  return first != hidden.end() && first->begin_tsc <= end ? &*first : nullptr;
}

// A packet has the lower 56 bits of the counter.
uint64_t whole_tsc(uint64_t packet_tsc, uint64_t end_tsc) {
  constexpr uint64_t kRound = uint64_t{1} << 56;
  const uint64_t whole = (end_tsc & ~(kRound - 1)) | packet_tsc;
  return whole > end_tsc && whole >= kRound ? whole - kRound : whole;
}

// From a PSB up to the next one, or the end. Without a time where its PSB, or the next one, has none.
struct Chunk {
  PacketRange range;
  std::optional<uint64_t> begin_tsc;
  std::optional<uint64_t> end_tsc;
};

std::vector<Chunk> chunks_of(std::span<const uint8_t> packets, uint64_t end_tsc) {
  const RingView view({}, packets);
  std::vector<Chunk> chunks;
  std::optional<uint64_t> next_tsc = end_tsc;
  uint64_t end = packets.size();
  while (const auto psb = view.psb_before(end)) {
    std::optional<uint64_t> tsc = view.tsc_of_psb(*psb);
    if (tsc) tsc = whole_tsc(*tsc, end_tsc);
    chunks.push_back({{*psb, end}, tsc, next_tsc});
    next_tsc = tsc;
    end = *psb;
  }
  std::ranges::reverse(chunks);
  return chunks;
}

void append(const PacketRange& range, std::vector<PacketRange>& ranges) {
  if (!ranges.empty() && ranges.back().end == range.begin)
    ranges.back().end = range.end;
  else
    ranges.push_back(range);
}

}  // namespace

bool OneUser::owns(int32_t pid) const {
  return owners_.owner(pid, since_tsc_) == ProcessOwner{Kind::kUser, uid_};
}

HiddenTimes OneUser::hidden_times(const std::vector<Sideband>& rows, const std::set<int32_t>& unsure,
                                  uint64_t known_from_tsc) const {
  const CpuTimes::Judge judge = [this](int32_t pid, uint64_t since_tsc) -> std::optional<bool> {
    const ProcessOwner owner = owners_.owner(pid, std::min(since_tsc, since_tsc_));
    const bool is_shown = owner.kind == Kind::kKernel ? !kernel_is_recorded_ : owner == ProcessOwner{Kind::kUser, uid_};
    return is_shown ? std::nullopt : std::optional(owner.kind == Kind::kUnknown);
  };
  std::map<int32_t, CpuTimes> cpus;
  for (const Sideband& row : rows) {
    if (row.kind == SidebandKind::kLost) lose(row.cpu, cpus);
    const bool is_state = row.tsc == 0;
    const bool is_known = is_state ? !unsure.contains(row.cpu) : row.tsc >= known_from_tsc;
    if (!is_of_switch(row) || !is_known) continue;
    CpuTimes& times = cpus[row.cpu];
    if (row.kind == SidebandKind::kSwitchOut)
      times.check(row.pid);
    else if (is_state)
      times.switch_in(known_from_tsc, -1, row.pid, judge);
    else
      times.switch_in(row.tsc, row.other_pid, row.pid, judge);
  }
  HiddenTimes hidden;
  for (auto& [cpu, times] : cpus) {
    times.finish(UINT64_MAX, judge);
    hidden.emplace(cpu, times.take());
  }
  return hidden;
}

uint64_t OneUser::remove_others(std::vector<Sideband>& rows) const {
  OwnSwitches switches(*this);
  std::vector<Sideband> own;
  uint64_t removed = 0;
  for (Sideband& row : rows) {
    const bool is_switch = is_of_switch(row);
    const bool remains = is_switch ? switches.keep(row) : keep(row);
    removed += remains || is_switch ? 0 : 1;
    if (remains) own.push_back(std::move(row));
  }
  rows = std::move(own);
  return removed;
}

bool OneUser::keep(Sideband& row) const {
  if (!owns(row.other_pid)) row.other_pid = row.other_tid = -1;
  if (owns(row.pid)) return true;
  row.pid = row.tid = -1;
  return is_of_no_process(row);
}

uint64_t ShownPackets::bytes() const {
  uint64_t sum = 0;
  for (const PacketRange& range : ranges) sum += range.end - range.begin;
  return sum;
}

ShownPackets shown_packets(std::span<const uint8_t> packets, std::span<const HiddenTime> hidden, uint64_t end_tsc,
                           uint64_t margin) {
  ShownPackets shown;
  shown.unknown_bytes = packets.size();
  const std::vector<Chunk> chunks = chunks_of(packets, end_tsc);
  for (const Chunk& chunk : chunks) {
    if (!chunk.begin_tsc || !chunk.end_tsc || *chunk.begin_tsc > *chunk.end_tsc) continue;
    const uint64_t begin_tsc = *chunk.begin_tsc - std::min(*chunk.begin_tsc, margin);
    const HiddenTime* hides = first_touching(hidden, begin_tsc, *chunk.end_tsc + margin);
    if (hides != nullptr && hides->is_unknown) continue;
    shown.unknown_bytes -= chunk.range.end - chunk.range.begin;
    if (hides != nullptr)
      shown.others_bytes += chunk.range.end - chunk.range.begin;
    else
      append(chunk.range, shown.ranges);
  }
  return shown;
}

}  // namespace fathom::snapshot

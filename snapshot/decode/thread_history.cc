#include "snapshot/decode/thread_history.h"

#include <algorithm>
#include <unordered_map>

namespace fathom::snapshot {
namespace {

RunningThread thread_of(int32_t pid, int32_t tid) {
  return {std::max(pid, 0), std::max(tid, 0)};
}

// The process of a stream's thread, where the stream does not say.
RunningThread owner(const Snapshot& snapshot, const Stream& stream) {
  if (stream.pid > 0 || stream.tid <= 0) return thread_of(stream.pid, stream.tid);
  for (const auto& row : snapshot.sideband) {
    if (row.tid == stream.tid && row.pid > 0) return thread_of(row.pid, row.tid);
  }
  return thread_of(stream.tid, stream.tid);
}

bool is_switch(const Sideband& row) {
  return row.kind == SidebandKind::kSwitchIn || row.kind == SidebandKind::kSwitchOut;
}

// Rows of one CPU, put together as they come. Between a switch out and the next switch in the kernel still works for
// the thread that leaves; only when nobody comes has it left.
class CpuSwitches {
 public:
  explicit CpuSwitches(ThreadHistory& history) : history_(history) {}

  void take(const Sideband& row) {
    if (row.kind == SidebandKind::kSwitchIn) return in(row);
    if (!seen_) history_.first = thread_of(row.pid, row.tid);
    finish();
    seen_ = true;
    out_ = true;
    out_tsc_ = row.tsc;
  }

  void finish() {
    if (out_) history_.switches.push_back({out_tsc_, {}});
    out_ = false;
  }

 private:
  void in(const Sideband& row) {
    if (!seen_ && row.other_tid > 0) history_.first = thread_of(row.other_pid, row.other_tid);
    seen_ = true;
    out_ = false;
    history_.switches.push_back({row.tsc, thread_of(row.pid, row.tid)});
  }

  ThreadHistory& history_;
  bool seen_ = false;
  bool out_ = false;
  uint64_t out_tsc_ = 0;
};

void read_switches(const Snapshot& snapshot, std::vector<ThreadHistory>& histories) {
  std::unordered_map<int32_t, std::vector<CpuSwitches>> cpus;
  for (size_t at = 0; at < snapshot.streams.size(); ++at) {
    const Stream& stream = snapshot.streams[at];
    histories[at].first = owner(snapshot, stream);
    if (stream.tid <= 0 && stream.cpu >= 0) cpus[stream.cpu].emplace_back(histories[at]);
  }
  for (const auto& row : snapshot.sideband) {
    if (!is_switch(row)) continue;
    auto found = cpus.find(row.cpu);
    if (found == cpus.end()) continue;
    for (auto& cpu : found->second) cpu.take(row);
  }
  for (auto& [number, streams] : cpus) {
    for (auto& cpu : streams) cpu.finish();
  }
}

GapReason loss_of(const Sideband& row) {
  switch (row.kind) {
    case SidebandKind::kLost:
      return GapReason::kSidebandLost;
    case SidebandKind::kAuxLoss:
      return GapReason::kPacketsLost;
    case SidebandKind::kGap:
      return (row.flags & kFlagWindow) != 0 ? GapReason::kBetweenWindows : GapReason::kUnrecorded;
    default:
      return GapReason::kNone;
  }
}

std::string cause_of(const Sideband& row) {
  switch (row.kind) {
    case SidebandKind::kLost:
      return std::to_string(row.length) + " records of the history of processes were lost";
    case SidebandKind::kAuxLoss:
      return row.text.empty() ? "the recorder lost packets" : row.text;
    default:
      return row.text.empty() ? "instructions ran unrecorded" : row.text;
  }
}

// How well a row fits a stream: its thread, its CPU, or at least not another's.
int fit(const Sideband& row, const Stream& stream) {
  if (row.tid > 0 && stream.tid > 0) return row.tid == stream.tid ? 3 : 0;
  if (row.cpu >= 0 && stream.cpu >= 0) return row.cpu == stream.cpu ? 2 : 0;
  return 1;
}

size_t stream_of(const Sideband& row, const std::vector<Stream>& streams) {
  size_t best = 0;
  for (size_t at = 1; at < streams.size(); ++at) {
    if (fit(row, streams[at]) > fit(row, streams[best])) best = at;
  }
  return best;
}

void read_losses(const Snapshot& snapshot, std::vector<ThreadHistory>& histories) {
  if (histories.empty()) return;
  for (const auto& row : snapshot.sideband) {
    const GapReason reason = loss_of(row);
    if (reason == GapReason::kNone) continue;
    histories[stream_of(row, snapshot.streams)].losses.push_back({row.tsc, reason, cause_of(row)});
  }
}

void read_programs(const Snapshot& snapshot, std::vector<ThreadHistory>& histories) {
  for (const auto& row : snapshot.sideband) {
    const bool exec = row.kind == SidebandKind::kName && (row.flags & kFlagExec) != 0 && row.tsc != 0 && row.pid > 0;
    if (!exec) continue;
    for (size_t at = 0; at < histories.size(); ++at) {
      if (fit(row, snapshot.streams[at]) != 0) histories[at].programs.push_back({row.tsc, thread_of(row.pid, row.tid)});
    }
  }
}

template <typename T>
void by_time(std::vector<T>& rows) {
  std::stable_sort(rows.begin(), rows.end(), [](const T& one, const T& other) { return one.tsc < other.tsc; });
}

}  // namespace

RunningThread ThreadHistory::at(uint64_t tsc) const {
  auto next = std::upper_bound(switches.begin(), switches.end(), tsc,
                               [](uint64_t wanted, const ThreadSwitch& row) { return wanted < row.tsc; });
  return next == switches.begin() ? first : std::prev(next)->to;
}

std::vector<ThreadHistory> thread_histories(const Snapshot& snapshot) {
  std::vector<ThreadHistory> histories(snapshot.streams.size());
  read_switches(snapshot, histories);
  read_losses(snapshot, histories);
  read_programs(snapshot, histories);
  for (auto& history : histories) {
    by_time(history.switches);
    by_time(history.losses);
    by_time(history.programs);
  }
  return histories;
}

}  // namespace fathom::snapshot

#include "snapshot/format/thread_activity.h"

#include <algorithm>
#include <map>
#include <utility>

namespace fathom::snapshot {
namespace {

uint64_t tsc_after(uint64_t tsc, uint64_t ticks) {
  return ticks > UINT64_MAX - tsc ? UINT64_MAX : tsc + ticks;
}

ThreadCall call_of(const Sideband& row, uint64_t end) {
  const bool sleeps = row.kind == SidebandKind::kLockWait;
  ThreadCall call{.when = {row.tsc, end}, .lock = sleeps ? &row : nullptr, .lasts = true};
  if (sleeps) return call;
  call.number = row.length;
  call.is_timed = row.file_offset != 0;
  call.lasts = (row.flags & kFlagUnderWay) != 0;
  if (call.is_timed) call.when.end = tsc_after(row.tsc, row.file_offset);
  return call;
}

// The call was interrupted and restarted by the kernel.
bool is_run_again(const ThreadCall& before, const ThreadCall& call) {
  return before.lasts && before.number && before.number == call.number;
}

void add_in_order(std::vector<ThreadCall>& calls, const ThreadCall& call) {
  if (!calls.empty()) {
    ThreadCall& before = calls.back();
    if (is_run_again(before, call)) {
      before.when.end = call.when.end;
      before.lasts = call.lasts;
      return;
    }
    before.lasts = false;
    before.when.end = std::min(before.when.end, call.when.begin);
  }
  calls.push_back(call);
}

Stretch common(Stretch one, Stretch other) {
  return {std::max(one.begin, other.begin), std::min(one.end, other.end)};
}

// The sum of a thread's equal activities.
struct Share {
  uint64_t ticks = 0;
  ThreadCall longest;

  void add(const ThreadCall& call) {
    ticks = tsc_after(ticks, call.when.ticks());
    if (longest.when.ticks() < call.when.ticks()) longest = call;
  }
};

// Key: whether it is a sleep for a lock, then the holder or the number of the system call.
using Shares = std::map<std::pair<bool, uint64_t>, Share>;

Shares shares_of(const std::vector<ThreadCall>& calls, Stretch within) {
  Shares shares;
  for (ThreadCall call : calls) {
    const bool sleeps = call.lock != nullptr;
    call.when = common(call.when, within);
    if (call.when.ticks() == 0 || (!sleeps && !call.is_timed)) continue;
    shares[{sleeps, sleeps ? static_cast<uint32_t>(call.lock->other_tid) : *call.number}].add(call);
  }
  return shares;
}

// Stepping slows down the code between calls.
double without_stepper(uint64_t ticks, double slowdown) {
  return static_cast<double>(ticks) / (slowdown > 1 ? slowdown : 1);
}

}  // namespace

std::vector<ThreadCall> calls_of(const ThreadRows& rows, int32_t tid) {
  std::vector<ThreadCall> calls;
  for (const Sideband* row : rows.of(tid)) {
    const bool sleeps = row->kind == SidebandKind::kLockWait;
    const bool in_call = sleeps && !calls.empty() && calls.back().lock == nullptr && row->tsc < calls.back().when.end;
    if (in_call) {
      calls.back().lock = row;
    } else {
      add_in_order(calls, call_of(*row, rows.end_tsc()));
    }
  }
  return calls;
}

ThreadCall longest_sleep(const ThreadRows& rows, const Sideband& wait) {
  ThreadCall longest;
  for (const ThreadCall& call : calls_of(rows, wait.tid)) {
    const bool same =
        call.lock != nullptr && call.lock->other_tid == wait.other_tid && call.lock->address == wait.address;
    if (same && (longest.lock == nullptr || call.when.ticks() > longest.when.ticks())) longest = call;
  }
  return longest;
}

ThreadActivity activity_of(const ThreadRows& rows, int32_t tid, Stretch within) {
  const Shares shares = shares_of(calls_of(rows, tid), within);
  uint64_t in_calls = 0;
  const Share* most = nullptr;
  for (const auto& [what, share] : shares) {
    in_calls = tsc_after(in_calls, share.ticks);
    if (most == nullptr || share.ticks > most->ticks) most = &share;
  }
  const uint64_t ran = within.ticks() - std::min(within.ticks(), in_calls);
  if (most == nullptr || static_cast<double>(most->ticks) < without_stepper(ran, rows.snapshot().slowdown)) return {};
  if (most->longest.lock != nullptr) return {.sleep = most->longest, .system_call = std::nullopt};
  return {.sleep = {}, .system_call = most->longest.number};
}

}  // namespace fathom::snapshot

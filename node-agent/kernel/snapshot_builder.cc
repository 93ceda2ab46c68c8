#include "node-agent/kernel/snapshot_builder.h"

#include <algorithm>
#include <utility>

#include "node-agent/kernel/decode.h"
#include "node-agent/kernel/missing_changes.h"
#include "node-agent/kernel/thread_names.h"

namespace fathom::agent::kernel {

namespace {

bool is_call(const KernelEvent& event) {
  return event.kind == KernelEventKind::kSyscall || event.kind == KernelEventKind::kSyscallUnderWay;
}

bool gives_name(const KernelEvent& event) {
  return event.kind == KernelEventKind::kThreadStart || event.kind == KernelEventKind::kThreadExit ||
         event.kind == KernelEventKind::kExec || event.kind == KernelEventKind::kRename;
}

// By their times' numbers: an event is three cache lines, and is moved once only.
std::vector<KernelEvent> sorted(std::vector<KernelEvent> events) {
  std::vector<std::pair<uint64_t, size_t>> order(events.size());
  for (size_t i = 0; i < events.size(); ++i) order[i] = {events[i].monotonic_nano, i};
  std::ranges::sort(order);
  std::vector<KernelEvent> ordered;
  ordered.reserve(events.size());
  for (auto [time, at] : order) ordered.push_back(std::move(events[at]));
  return ordered;
}

uint64_t oldest_nano(const std::vector<KernelEvent>& events) {
  return events.empty() ? UINT64_MAX : events.front().monotonic_nano;
}

}  // namespace

void SnapshotBuilder::read(const RingView& ring) {
  const RingLosses losses = read_ring(ring, request_.begin_nano, [this](const Record& record) {
    if (std::optional<KernelEvent> event = decode_record(record))
      add(*std::move(event));
    else
      ++snapshot_.losses.torn;
  });
  snapshot_.losses.overwritten += losses.overwritten;
  snapshot_.losses.torn += losses.torn;
  snapshot_.complete_from_nano = std::max(snapshot_.complete_from_nano, losses.complete_from_nano);
}

void SnapshotBuilder::add(KernelEvent event) {
  const Choice* choice = filter_.find(event.pid, event.monotonic_nano);
  if (choice != nullptr && gives_name(event)) note_name(event);
  if (choice == nullptr && event.kind == KernelEventKind::kSwitch)
    choice = filter_.find(event.other_pid, event.monotonic_nano);
  if (choice != nullptr && is_wanted(event, *choice)) snapshot_.events.push_back(std::move(event));
}

// Events come from several rings, and not by time.
void SnapshotBuilder::note_name(const KernelEvent& event) {
  auto& [nano, name] = noted_names_[{event.pid, event.tid}];
  if (event.monotonic_nano < nano) return;
  nano = event.monotonic_nano;
  name = event.name;
}

// Also takes away a start that belongs to an earlier choice of the same process: its end was not seen.
bool SnapshotBuilder::is_wanted(KernelEvent& event, const Choice& choice) const {
  if (is_call(event) && event.start_nano < choice.begin_nano) event.start_nano = 0;
  if (event.kind == KernelEventKind::kSyscallUnderWay && event.start_nano == 0) return false;
  const uint64_t start_nano = is_call(event) ? event.start_nano : event.monotonic_nano;
  return event.monotonic_nano >= request_.begin_nano && start_nano <= request_.end_nano;
}

// A process may have thousands of threads of which few did anything, so that reading all their names takes long.
std::map<int32_t, std::set<int32_t>> SnapshotBuilder::threads_of_events() const {
  std::map<int32_t, std::set<int32_t>> threads;
  for (const KernelEvent& event : snapshot_.events) {
    threads[event.pid].insert(event.tid);
    threads[event.other_pid].insert(event.other_tid);
  }
  return threads;
}

// Of living threads the name as of now; of the others that of the last event that had it.
void SnapshotBuilder::add_names() {
  std::map<std::pair<int32_t, int32_t>, std::string> names;
  for (auto& [ids, noted] : noted_names_) names[ids] = std::move(noted.second);
  std::map<int32_t, std::set<int32_t>> threads = threads_of_events();
  for (const ProcessId& process : filter_.current()) {
    for (ThreadName& thread : thread_names(process.pid, threads[process.pid]))
      names[{thread.pid, thread.tid}] = std::move(thread.name);
  }
  for (auto& [ids, name] : names) snapshot_.threads.push_back({ids.first, ids.second, std::move(name)});
}

// The oldest, beyond what was asked for.
void SnapshotBuilder::leave_out() {
  auto& events = snapshot_.events;
  if (events.size() <= request_.most_events) return;
  const size_t many = events.size() - request_.most_events;
  snapshot_.losses.left_out = many;
  events.erase(events.begin(), events.begin() + static_cast<ptrdiff_t>(many));
  snapshot_.complete_from_nano = std::max(snapshot_.complete_from_nano, oldest_nano(events));
}

KernelSnapshot SnapshotBuilder::finish() {
  auto& events = snapshot_.events;
  events = sorted(std::move(events));
  snapshot_.complete_from_nano = std::max(snapshot_.complete_from_nano, request_.begin_nano);
  if (!request_.processes.empty())
    snapshot_.complete_from_nano = std::max(snapshot_.complete_from_nano, filter_.all_from_nano(request_.end_nano));
  add_names();
  leave_out();
  const uint64_t until_nano = std::min(request_.end_nano, begun_nano_);
  snapshot_.losses.missed = missing_changes(events, filter_, snapshot_.complete_from_nano, until_nano);
  return std::move(snapshot_);
}

}  // namespace fathom::agent::kernel

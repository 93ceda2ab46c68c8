#include "snapshot/record/pt/process_owners.h"

#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "snapshot/record/pt/proc_files.h"
#include "snapshot/record/pt/system_files.h"

namespace fathom::snapshot {
namespace {

using Kind = ProcessOwner::Kind;

constexpr uint32_t kOverflowUid = 65534;                             // of users that a namespace does not map
constexpr std::string_view kFirstPidNamespace = "pid:[4026531836]";  // PROC_PID_INIT_INO of Linux
constexpr size_t kFlagsOfStat = 6;
constexpr int64_t kKernelThread = 0x0020'0000;  // PF_KTHREAD
constexpr size_t kUidsOfStatus = 4;             // real, effective, saved, of the file system

bool is_kernel_thread(const PerfSystem& system, const std::string& process) {
  const auto stat = read_small_file(system.path(process + "/stat"), 4096);
  return stat && (number_of_stat(*stat, kFlagsOfStat).value_or(0) & kKernelThread) != 0;
}

// The user of all four ids of a status file; nothing if they differ.
std::optional<uint32_t> single_uid(std::string_view status) {
  constexpr std::string_view kName = "Uid:";
  for (std::string_view line : split_lines(status)) {
    if (!line.starts_with(kName)) continue;
    line.remove_prefix(kName.size());
    std::set<uint64_t> uids;
    size_t words = 0;
    for (; !line.empty(); ++words) {
      line.remove_prefix(std::min(line.find_first_not_of("\t "), line.size()));
      const std::string_view word = line.substr(0, line.find_first_of("\t "));
      line.remove_prefix(word.size());
      uids.insert(parse_number(word).value_or(UINT64_MAX));
    }
    const bool is_one = words == kUidsOfStatus && uids.size() == 1 && *uids.begin() <= UINT32_MAX;
    return is_one ? std::optional(static_cast<uint32_t>(*uids.begin())) : std::nullopt;
  }
  return std::nullopt;
}

bool all_threads_are_of(const PerfSystem& system, int32_t pid, const std::string& process, uint32_t uid) {
  return std::ranges::all_of(threads_of(system, pid), [&](int32_t tid) {
    const auto status = read_small_file(system.path(process + "/task/" + std::to_string(tid) + "/status"));
    return !status || single_uid(*status) == uid;  // a thread that has ended meanwhile runs nothing
  });
}

bool is_in_first_pid_namespace(const PerfSystem& system) {
  char link[64];
  const ssize_t bytes = ::readlink(system.path("/proc/self/ns/pid").c_str(), link, sizeof link);
  return bytes > 0 && std::string_view(link, static_cast<size_t>(bytes)) == kFirstPidNamespace;
}

bool maps_all_users(const PerfSystem& system) {
  std::string map = read_small_file(system.path("/proc/self/uid_map")).value_or("");
  std::erase(map, ' ');
  return map == "004294967295";
}

}  // namespace

std::optional<ProcessOwner> read_owner(const PerfSystem& system, int32_t pid, bool every_thread) {
  const std::string process = "/proc/" + std::to_string(pid);
  const auto status = read_small_file(system.path(process + "/status"));
  if (!status) return std::nullopt;
  if (is_kernel_thread(system, process)) return ProcessOwner{Kind::kKernel, 0};
  const auto uid = single_uid(*status);
  if (!uid || system.owner_of(process) != uid) return ProcessOwner{};
  if (every_thread && !all_threads_are_of(system, pid, process, *uid)) return ProcessOwner{};
  return ProcessOwner{Kind::kUser, *uid};
}

ProcessOwners::ProcessOwners(PerfSystem& system)
    : system_(system),
      sees_all_processes_(is_in_first_pid_namespace(system)),
      sees_all_users_(maps_all_users(system)) {}

bool ProcessOwners::is_ambiguous(const ProcessOwner& owner) const {
  return owner.kind == Kind::kUser && owner.uid == kOverflowUid && !sees_all_users_;
}

void ProcessOwners::scan(int32_t pid) {
  entries_[pid] = {read_owner(system_, pid, false).value_or(ProcessOwner{}), 0, 0, system_.tsc()};
}

void ProcessOwners::observe(Entry& entry, const ProcessOwner& owner, uint64_t tsc) {
  if (entry.owner == owner) return;
  entry.owner = owner;
  entry.changed_tsc = tsc;
}

void ProcessOwners::note(const Sideband& row) {
  const bool begins = row.kind == SidebandKind::kFork && row.pid != row.other_pid;
  if (!begins && row.kind != SidebandKind::kName && row.kind != SidebandKind::kLost) return;
  noted_.push_back({.kind = row.kind, .tsc = row.tsc, .pid = row.pid, .other_pid = row.other_pid});
}

// Each CPU's rows came by themselves: a process may have begun on one and executed its program on another.
void ProcessOwners::apply_noted() {
  std::ranges::stable_sort(noted_, {}, &Sideband::tsc);
  for (const Sideband& row : noted_) apply(row);
  noted_.clear();
  while (!changed_.empty()) read(*changed_.begin(), false);
}

void ProcessOwners::apply(const Sideband& row) {
  if (row.kind == SidebandKind::kLost) {
    lost_tsc_ = std::max(lost_tsc_, row.tsc);
    return;
  }
  if (row.kind == SidebandKind::kFork) fork(row);
  entries_[row.pid].seen_tsc = row.tsc;
  changed_.insert(row.pid);
}

void ProcessOwners::fork(const Sideband& row) {
  const ProcessOwner inherited = owner_when_forked(row.other_pid, row.tsc);
  const auto [found, is_new] = entries_.try_emplace(row.pid, Entry{inherited, 0, row.tsc, 0});
  if (!is_new) observe(found->second, inherited, row.tsc);  // the number was another process's
}

// It may have executed a program since it was read.
bool ProcessOwners::is_unread(int32_t pid) const {
  const auto found = entries_.find(pid);
  return changed_.contains(pid) || found == entries_.end() || found->second.read_tsc <= lost_tsc_;
}

ProcessOwner ProcessOwners::owner_when_forked(int32_t parent, uint64_t tsc) {
  if (entries_.contains(parent) && is_unread(parent)) read(parent, false);
  return owner(parent, tsc);
}

// A process that has ended is what it was when it was read: only root becomes another user without another program.
void ProcessOwners::read(int32_t pid, bool every_thread) {
  const bool was_read = !is_unread(pid);
  Entry& entry = entries_[pid];
  const bool is_of_root = entry.owner == ProcessOwner{Kind::kUser, 0};
  changed_.erase(pid);
  const auto found = read_owner(system_, pid, every_thread);
  const uint64_t now = system_.tsc();
  if (found) entry.read_tsc = now;
  if (found || !was_read || is_of_root) observe(entry, found.value_or(ProcessOwner{}), now);
}

void ProcessOwners::read_in_turn() {
  std::vector<int32_t> pids;
  for (auto at = entries_.upper_bound(last_in_turn_); at != entries_.end() && pids.size() < kMostInTurn; ++at)
    pids.push_back(at->first);
  last_in_turn_ = pids.size() < kMostInTurn ? -1 : pids.back();
  for (const int32_t pid : pids) read(pid, false);
}

void ProcessOwners::read_again(const std::set<int32_t>& pids) {
  for (const int32_t pid : pids) {
    if (entries_.contains(pid)) read(pid, true);
  }
}

void ProcessOwners::forget(uint64_t horizon_tsc, const std::function<bool(int32_t)>& is_known) {
  std::erase_if(entries_, [&](const auto& entry) {
    const auto& [pid, known] = entry;
    const bool is_recent = std::max(known.seen_tsc, known.changed_tsc) >= horizon_tsc || changed_.contains(pid);
    return !is_recent && !is_known(pid);
  });
}

ProcessOwner ProcessOwners::owner(int32_t pid, uint64_t since_tsc) const {
  if (pid == 0 && sees_all_processes_) return {Kind::kKernel, 0};
  const auto found = entries_.find(pid);
  if (pid <= 0 || found == entries_.end() || found->second.changed_tsc > since_tsc) return {};
  return is_ambiguous(found->second.owner) ? ProcessOwner{} : found->second.owner;
}

}  // namespace fathom::snapshot

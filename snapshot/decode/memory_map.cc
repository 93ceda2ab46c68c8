#include "snapshot/decode/memory_map.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <unordered_map>

#include "snapshot/decode/code_patches.h"

namespace fathom::snapshot {
namespace {

using Ranges = std::vector<MappedRange>;
using SharedRanges = std::shared_ptr<const Ranges>;

// Ranges in all versions together (64 MiB). Half of it may be spent freely; then a version needs many changes.
constexpr uint64_t kMostRanges = 2u << 20;
constexpr uint64_t kChangesPerVersion = 8;

struct Version {
  uint64_t from = 0;
  SharedRanges ranges;
};

// The history of one address space while it is put together.
class History {
 public:
  void show(MappedRange range) {
    hide(range.begin, range.end);
    now_.emplace(range.begin, range);
  }

  void hide(uint64_t begin, uint64_t end) {
    auto at = now_.lower_bound(begin);
    if (at != now_.begin()) cut_tail(std::prev(at)->second, begin, end);
    at = now_.lower_bound(begin);
    while (at != now_.end() && at->second.begin < end) at = cut_front(at, end);
  }

  // The bytes of [begin, end) are others. Where nothing was, code comes into being.
  void patch(const CodePatches::Patch& patch) {
    cut_at(patch.begin);
    cut_at(patch.end);
    auto at = now_.lower_bound(patch.begin);
    if (at == now_.end() || at->first >= patch.end) {
      now_.emplace(patch.begin, MappedRange{patch.begin, patch.end, 0, kNoImage, patch.patch});
    }
    for (; at != now_.end() && at->first < patch.end; ++at) at->second.patch = patch.patch;
  }

  void clear() { now_.clear(); }

  // To be called before each change: what was known until now becomes a version when time has passed.
  void change_at(uint64_t tsc, uint64_t& spent) {
    if (changes_ != 0 && tsc > since_ && worth_a_version(spent)) seal(spent);
    if (changes_++ == 0) since_ = tsc;
  }

  void seal(uint64_t& spent) {
    if (changes_ == 0) return;
    auto ranges = std::make_shared<Ranges>();
    ranges->reserve(now_.size());
    for (const auto& [begin, range] : now_) ranges->push_back(range);
    spent += ranges->size() + 1;
    versions_.push_back({since_, std::move(ranges)});
    changes_ = 0;
  }

  void copy_from(const History& other) { now_ = other.now_; }

  // Nothing has changed since the last version.
  bool settled() const { return changes_ == 0; }

  std::vector<Version> take() { return std::move(versions_); }

 private:
  using Now = std::map<uint64_t, MappedRange>;

  bool worth_a_version(uint64_t spent) const {
    return spent + now_.size() < kMostRanges / 2 ||
           (spent + now_.size() < kMostRanges && changes_ >= now_.size() / kChangesPerVersion);
  }

  // A range that begins before [begin, end): keeps what lies outside.
  void cut_tail(MappedRange& range, uint64_t begin, uint64_t end) {
    if (range.end <= begin) return;
    const MappedRange whole = range;
    range.end = begin;
    if (whole.end > end)
      now_.emplace(end, MappedRange{end, whole.end, whole.file_offset + (end - whole.begin), whole.image, whole.patch});
  }

  // A range begins at `address`, if one goes across it.
  void cut_at(uint64_t address) {
    auto at = now_.lower_bound(address);
    if (at != now_.begin()) cut_tail(std::prev(at)->second, address, address);
  }

  // A range that begins inside of what is hidden, up to `end`.
  Now::iterator cut_front(Now::iterator at, uint64_t end) {
    MappedRange range = at->second;
    at = now_.erase(at);
    if (range.end <= end) return at;
    range.file_offset += end - range.begin;
    range.begin = end;
    return now_.emplace_hint(at, end, range);
  }

  Now now_;
  std::vector<Version> versions_;
  uint64_t since_ = 0;
  uint64_t changes_ = 0;
};

const Version* version_at(const std::vector<Version>& versions, uint64_t tsc) {
  auto at = std::upper_bound(versions.begin(), versions.end(), tsc,
                             [](uint64_t wanted, const Version& version) { return wanted < version.from; });
  return at == versions.begin() ? nullptr : &*std::prev(at);
}

uint64_t next_change(const std::vector<Version>& versions, uint64_t tsc) {
  auto at = std::upper_bound(versions.begin(), versions.end(), tsc,
                             [](uint64_t wanted, const Version& version) { return wanted < version.from; });
  return at == versions.end() ? UINT64_MAX : at->from;
}

// Both, `own` before `common` where they overlap.
Ranges merged(const Ranges& own, const Ranges& common) {
  uint64_t spent = 0;
  History both;
  both.change_at(0, spent);
  for (const auto& range : common) both.show(range);
  for (const auto& range : own) both.show(range);
  both.seal(spent);
  return *both.take().front().ranges;
}

bool of_everybody(const Sideband& row) {
  return (row.flags & kFlagKernel) != 0 || row.pid <= 0;
}

}  // namespace

const MappedRange* find_range(std::span<const MappedRange> ranges, uint64_t address) {
  auto at = std::upper_bound(ranges.begin(), ranges.end(), address,
                             [](uint64_t wanted, const MappedRange& range) { return wanted < range.begin; });
  if (at == ranges.begin()) return nullptr;
  --at;
  return address < at->end ? &*at : nullptr;
}

struct MemoryMap::State {
  std::unordered_map<int32_t, std::vector<Version>> processes;
  std::vector<Version> common;
  uint64_t ignored = 0;

  std::mutex lock;  // of `joined`
  std::map<std::pair<const Ranges*, const Ranges*>, std::unique_ptr<Ranges>> joined;

  std::span<const MappedRange> join(const Version* own, const Version* shared) {
    if (own == nullptr || own->ranges->empty())
      return shared == nullptr ? std::span<const MappedRange>() : *shared->ranges;
    if (shared == nullptr || shared->ranges->empty()) return *own->ranges;
    std::lock_guard hold(lock);
    auto& both = joined[{own->ranges.get(), shared->ranges.get()}];
    if (!both) both = std::make_unique<Ranges>(merged(*own->ranges, *shared->ranges));
    return *both;
  }

  const std::vector<Version>& of(int32_t pid) const {
    static const std::vector<Version> kNone;
    auto found = processes.find(pid);
    return found == processes.end() ? kNone : found->second;
  }
};

namespace {

// Patches looked at again because a map shows their place; more are hostile.
constexpr uint64_t kMostPatchLooks = 1u << 20;

// Reads the rows in their order.
class Reader {
 public:
  explicit Reader(const Snapshot& snapshot) : snapshot_(snapshot), patches_(snapshot) {}

  void read() {
    const auto& rows = snapshot_.sideband;
    for (at_ = 0; at_ < rows.size(); ++at_) apply(rows[at_], snapshot_.images.size());
    for (auto& [pid, history] : processes_) history.seal(spent_);
    common_.seal(spent_);
  }

  std::unordered_map<int32_t, std::vector<Version>> processes() {
    std::unordered_map<int32_t, std::vector<Version>> all;
    for (auto& [pid, history] : processes_) all.emplace(pid, history.take());
    return all;
  }
  std::vector<Version> common() { return common_.take(); }
  uint64_t ignored() const { return ignored_; }

 private:
  void apply(const Sideband& row, size_t images) {
    switch (row.kind) {
      case SidebandKind::kMap:
        return map(row, images);
      case SidebandKind::kUnmap:
        return unmap(row);
      case SidebandKind::kFork:
        return fork(row);
      case SidebandKind::kTextPoke:
        return patch(row);
      case SidebandKind::kName:
        if ((row.flags & kFlagExec) != 0 && row.pid > 0) changing(processes_[row.pid], row).clear();
        return;
      default:
        return;
    }
  }

  History& changing(History& history, const Sideband& row) {
    history.change_at(row.tsc, spent_);
    return history;
  }
  History& of(const Sideband& row) { return of_everybody(row) ? common_ : processes_[row.pid]; }

  static bool wraps(const Sideband& row) { return row.length == 0 || row.address + row.length < row.address; }

  void map(const Sideband& row, size_t images) {
    const bool bad =
        wraps(row) || row.file_offset + row.length < row.file_offset || (row.image >= images && row.image != kNoImage);
    if (bad) {
      ++ignored_;
      return;
    }
    changing(of(row), row).show({row.address, row.address + row.length, row.file_offset, row.image});
    if (of_everybody(row)) show_old_code(row);
  }

  void show_old_code(const Sideband& row) {
    if (patch_looks_ >= kMostPatchLooks) return;
    for (const auto& old : patches_.before(snapshot_, at_, row.address, row.address + row.length)) {
      ++patch_looks_;
      common_.patch(old);
    }
  }

  void patch(const Sideband& row) {
    const CodePatches::Patch after = CodePatches::after(snapshot_, at_);
    if (!patches_.applies(at_) || after.patch == 0) {
      ++ignored_;
      return;
    }
    if (patches_.own_time(row) || common_.settled()) changing(common_, row);
    if (after.end > after.begin) return common_.patch(after);
    common_.hide(row.address, row.address + row.other_text.size());
  }

  void unmap(const Sideband& row) {
    if (wraps(row)) {
      ++ignored_;
      return;
    }
    changing(of(row), row).hide(row.address, row.address + row.length);
  }

  void fork(const Sideband& row) {
    if (row.pid == row.other_pid || row.pid <= 0) return;
    const auto parent = processes_.find(row.other_pid);
    if (parent == processes_.end()) return;
    const History& from = parent->second;  // references stay valid where iterators do not
    changing(processes_[row.pid], row).copy_from(from);
  }

  const Snapshot& snapshot_;
  const CodePatches patches_;
  size_t at_ = 0;  // the row
  uint64_t patch_looks_ = 0;
  std::unordered_map<int32_t, History> processes_;
  History common_;
  uint64_t spent_ = 0;
  uint64_t ignored_ = 0;
};

}  // namespace

MemoryMap::MemoryMap(const Snapshot& snapshot) : state_(std::make_unique<State>()) {
  Reader reader(snapshot);
  reader.read();
  state_->processes = reader.processes();
  state_->common = reader.common();
  state_->ignored = reader.ignored();
}
MemoryMap::~MemoryMap() = default;
MemoryMap::MemoryMap(MemoryMap&&) noexcept = default;

std::span<const MappedRange> MemoryMap::ranges(int32_t pid, uint64_t tsc) const {
  return state_->join(version_at(state_->of(pid), tsc), version_at(state_->common, tsc));
}

AddressSpace MemoryMap::space(int32_t pid, uint64_t tsc) const {
  return {ranges(pid, tsc), std::min(next_change(state_->of(pid), tsc), next_change(state_->common, tsc))};
}

std::optional<AddressSpace> MemoryMap::later_space(int32_t pid, uint64_t tsc, uint64_t address) const {
  for (const auto* versions : {&state_->of(pid), static_cast<const std::vector<Version>*>(&state_->common)}) {
    for (const auto& version : *versions) {
      if (version.from > tsc && find_range(*version.ranges, address) != nullptr) return space(pid, version.from);
    }
  }
  return std::nullopt;
}

std::optional<MappedRange> MemoryMap::find(int32_t pid, uint64_t tsc, uint64_t address) const {
  const MappedRange* range = find_range(ranges(pid, tsc), address);
  return range == nullptr ? std::nullopt : std::optional(*range);
}

uint64_t MemoryMap::ignored() const {
  return state_->ignored;
}

}  // namespace fathom::snapshot

#include "snapshot/import/ran_here.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace fathom::snapshot {
namespace {

bool is_switch(const Sideband& row) {
  return row.kind == SidebandKind::kSwitchIn || row.kind == SidebandKind::kSwitchOut;
}

// Whoever ran, if the kernel told of every switch.
std::unordered_set<int32_t> processes_that_ran(const Snapshot& snapshot) {
  std::unordered_set<int32_t> ran;
  for (const Sideband& row : snapshot.sideband) {
    if (row.kind == SidebandKind::kLost) return {};
    if (is_switch(row)) ran.insert(row.pid);
  }
  return ran;
}

// A new process begins with the maps of its parent, who need not have run.
void add_parents(const Snapshot& snapshot, std::unordered_set<int32_t>& ran) {
  std::unordered_multimap<int32_t, int32_t> parents;
  for (const Sideband& row : snapshot.sideband) {
    if (row.kind == SidebandKind::kFork && row.pid != row.other_pid) parents.emplace(row.pid, row.other_pid);
  }
  std::vector<int32_t> left(ran.begin(), ran.end());
  while (!left.empty()) {
    const int32_t child = left.back();
    left.pop_back();
    const auto [first, last] = parents.equal_range(child);
    for (auto parent = first; parent != last; ++parent) {
      if (ran.insert(parent->second).second) left.push_back(parent->second);
    }
  }
}

// Images that no row names any more go, too.
void remove_unused_images(Snapshot& snapshot) {
  std::vector<uint32_t> number(snapshot.images.size(), kNoImage);
  std::vector<Image> used;
  for (Sideband& row : snapshot.sideband) {
    if (row.image == kNoImage) continue;
    uint32_t& now = number[row.image];
    if (now == kNoImage) {
      now = static_cast<uint32_t>(used.size());
      used.push_back(std::move(snapshot.images[row.image]));
    }
    row.image = now;
  }
  snapshot.images = std::move(used);
}

}  // namespace

void keep_what_ran(Snapshot& snapshot) {
  std::unordered_set<int32_t> ran = processes_that_ran(snapshot);
  if (ran.empty()) return;
  for (const Stream& stream : snapshot.streams) ran.insert(stream.pid);
  for (const Sideband& row : snapshot.sideband) {
    if (row.kind == SidebandKind::kTraceStart) ran.insert(row.pid);
  }
  add_parents(snapshot, ran);
  std::erase_if(snapshot.sideband, [&](const Sideband& row) {
    return row.kind == SidebandKind::kMap && (row.flags & kFlagKernel) == 0 && !ran.contains(row.pid);
  });
  remove_unused_images(snapshot);
}

}  // namespace fathom::snapshot

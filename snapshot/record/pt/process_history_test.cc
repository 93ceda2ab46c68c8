// Folding is checked against an interpreter of rows: what a person could ask at any time after the horizon is the same.
#include "snapshot/record/pt/process_history.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>
#include <string>

#include "base/testing/repetitions.h"

namespace fathom::snapshot {
namespace {

Sideband row(SidebandKind kind, uint64_t tsc, int32_t pid, int32_t tid) {
  Sideband made;
  made.kind = kind;
  made.tsc = tsc;
  made.pid = pid;
  made.tid = tid;
  return made;
}

Sideband map_row(uint64_t tsc, int32_t pid, uint64_t address, uint64_t length, uint32_t image) {
  Sideband made = row(SidebandKind::kMap, tsc, pid, -1);
  made.address = address;
  made.length = length;
  made.file_offset = address * 10;
  made.image = image;
  return made;
}

// The state of all processes at a time, page by page, by playing every row in order.
struct Played {
  std::map<int32_t, std::map<uint64_t, std::pair<uint32_t, uint64_t>>> pages;  // pid, page -> image, file offset
  std::map<int32_t, std::string> names;
  std::map<int32_t, std::set<int32_t>> threads;
  bool operator==(const Played&) const = default;
};

void play_row(Played& state, const Sideband& one) {
  auto& pages = state.pages[one.pid];
  switch (one.kind) {
    case SidebandKind::kMap:
      for (uint64_t i = 0; i < one.length; ++i) pages[one.address + i] = {one.image, one.file_offset + i};
      break;
    case SidebandKind::kUnmap:
      for (uint64_t i = 0; i < one.length; ++i) pages.erase(one.address + i);
      break;
    case SidebandKind::kName:
      if (one.flags & kFlagExec) pages.clear();
      state.names[one.tid] = one.text;
      state.threads[one.pid].insert(one.tid);
      break;
    case SidebandKind::kFork:
      if (one.pid != one.other_pid) pages = state.pages[one.other_pid];
      if (state.names.contains(one.other_tid)) state.names[one.tid] = state.names[one.other_tid];
      state.threads[one.pid].insert(one.tid);
      break;
    case SidebandKind::kExit:
      state.names.erase(one.tid);
      state.threads[one.pid].erase(one.tid);
      if (state.threads[one.pid].empty()) state.pages.erase(one.pid);
      break;
    default:
      break;
  }
}

Played play(const std::vector<Sideband>& rows, uint64_t until) {
  Played state;
  for (const Sideband& one : rows) {
    if (one.tsc <= until) play_row(state, one);
  }
  std::erase_if(state.pages, [](const auto& process) { return process.second.empty(); });
  state.threads.clear();
  return state;
}

class Script {
 public:
  explicit Script(uint32_t seed) : random_(seed) { begin_process(1, 0, 0); }

  Sideband next() {
    const uint64_t tsc = ++tsc_;
    const int32_t pid = any_pid();
    const int32_t tid = *living_[pid].begin();
    switch (random_() % 8) {
      case 0: {
        const int32_t child = next_pid_++;
        return begin_process(child, pid, tsc, tid);
      }
      case 1: {
        const int32_t thread = next_pid_++;
        living_[pid].insert(thread);
        Sideband fork = row(SidebandKind::kFork, tsc, pid, thread);
        fork.other_pid = pid;
        fork.other_tid = tid;
        return fork;
      }
      case 2: {
        if (living_.size() < 2 && living_[pid].size() < 2) break;
        living_[pid].erase(tid);
        if (living_[pid].empty()) living_.erase(pid);
        return row(SidebandKind::kExit, tsc, pid, tid);
      }
      case 3: {
        Sideband name = row(SidebandKind::kName, tsc, pid, tid);
        name.text = "name" + std::to_string(random_() % 100);
        if (random_() % 3 == 0) name.flags = kFlagExec;
        return name;
      }
      case 4: {
        Sideband gone = map_row(tsc, pid, random_() % 30, 1 + random_() % 10, kNoImage);
        gone.kind = SidebandKind::kUnmap;
        return gone;
      }
      default:
        break;
    }
    return map_row(tsc, pid, random_() % 30, 1 + random_() % 10, random_() % 5);
  }
  uint64_t tsc() const { return tsc_; }

 private:
  int32_t any_pid() {
    auto at = living_.begin();
    std::advance(at, random_() % living_.size());
    return at->first;
  }
  Sideband begin_process(int32_t pid, int32_t parent, uint64_t tsc, int32_t parent_tid = 0) {
    living_[pid] = {pid};
    Sideband fork = row(SidebandKind::kFork, tsc, pid, pid);
    fork.other_pid = parent;
    fork.other_tid = parent_tid;
    return fork;
  }

  std::mt19937 random_;
  std::map<int32_t, std::set<int32_t>> living_;
  int32_t next_pid_ = 2;
  uint64_t tsc_ = 0;
};

TEST(ProcessHistoryModel, FoldingChangesNoAnswer) {
  for (uint32_t seed = 0; seed < repetitions(150); ++seed) {
    Script script(seed);
    ProcessHistory history;
    std::vector<Sideband> all{row(SidebandKind::kFork, 0, 1, 1)};
    history.add(all[0]);
    uint64_t horizon = 0;
    for (int round = 0; round < 20; ++round) {
      for (int i = 0; i < 15; ++i) {
        all.push_back(script.next());
        history.add(all.back());
      }
      horizon = script.tsc() - 10;
      history.fold(horizon);
      for (uint64_t at = horizon; at <= script.tsc(); at += 3) {
        const auto folded = play(history.rows(), at), whole = play(all, at);
        ASSERT_EQ(folded.names, whole.names) << "seed " << seed << " at " << at;
        ASSERT_EQ(folded.pages, whole.pages) << "seed " << seed << " at " << at;
      }
    }
    EXPECT_LE(history.recent(), 12u);
  }
}

TEST(ProcessHistory, RingsAreMergedByTime) {
  ProcessHistory history;
  for (const uint64_t tsc : {5, 2, 9, 1}) history.add(row(SidebandKind::kSwitchIn, tsc, 1, 1));
  history.fold(3);
  history.add(row(SidebandKind::kSwitchIn, 4, 1, 1));
  std::vector<uint64_t> times;
  for (const Sideband& one : history.rows()) times.push_back(one.tsc);
  EXPECT_EQ(times, (std::vector<uint64_t>{0, 4, 5, 9}));
}

TEST(ProcessHistory, TheKernelsStateStays) {
  ProcessHistory history;
  Sideband symbol = row(SidebandKind::kKernelSymbol, 1, -1, -1);
  symbol.address = 10;
  history.add(symbol);
  symbol.address = 20;
  history.add(symbol);
  symbol.tsc = 2;
  symbol.flags = kFlagGone;
  history.add(symbol);
  history.fold(100);
  ASSERT_EQ(history.rows().size(), 1u);
  EXPECT_EQ(history.rows()[0].address, 10u);
}

TEST(ProcessHistory, MoreThanItsLimitIsALossInItsPlace) {
  ProcessHistory history(10);
  for (uint64_t tsc = 1; tsc <= 15; ++tsc) history.add(row(SidebandKind::kSwitchIn, tsc, 1, 1));
  const auto rows = history.rows();
  ASSERT_EQ(rows.size(), 10u);
  EXPECT_EQ(rows.back().kind, SidebandKind::kLost);
  EXPECT_EQ(rows.back().tsc, 11u);
  EXPECT_EQ(rows.back().length, 6u);
  EXPECT_EQ(history.dropped(), 6u);
}

}  // namespace
}  // namespace fathom::snapshot

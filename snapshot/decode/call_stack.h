// CallStacks: what every thread called, rebuilt from decoded flow in parallel.
//
// Purpose: the Analysis behind call trees, latencies of functions, sunbursts, differences, and exports. A part is
// looked at from nothing: it keeps pieces, each a tree below a frame that is not known yet and the frames that are open
// at its end. Merging repeats the few items that began the pieces on the thread's real stack, and grafts the trees
// there; the result is what one pass over the whole would have found. A thread that ran on several processors is put
// together when all streams are there, in the order of time. Thread safety: as Analysis says; the results belong to one
// thread, after finish(). Ownership: keeps references to the extents. Memory: a tree per thread, plus the parts of
// threads that moved between processors. Source of the idea: parallel parsing by speculation from unknown states.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <unordered_map>
#include <vector>

#include "base/histogram.h"
#include "snapshot/decode/analysis.h"
#include "snapshot/decode/call_functions.h"
#include "snapshot/decode/call_machine.h"
#include "snapshot/decode/call_tree.h"

namespace fathom::snapshot {

struct CallOptions {
  int32_t tid = -1;          // this thread alone
  bool latencies = false;    // a histogram per function, of calls from beginning to end
  uint64_t most_slices = 0;  // beginnings and ends of calls to keep, per thread
};

struct ThreadKey {
  int32_t pid = -1;
  int32_t tid = -1;
  int64_t stream = -1;  // where the tid alone does not say who it is: idle loops, streams of nobody in particular

  auto operator<=>(const ThreadKey&) const = default;
};
// Of a kThread of that stream.
inline ThreadKey thread_key(const FlowItem& thread, size_t stream) {
  ThreadKey key{item_pid(thread), item_tid(thread), -1};
  if (key.tid <= 0) key.stream = static_cast<int64_t>(stream);
  return key;
}

struct ThreadCalls {
  ThreadKey key;
  const CallTree* tree = nullptr;
  const Slices* slices = nullptr;
};

// In ticks.
using FunctionLatencies = std::unordered_map<const CallFunction*, Histogram>;

class CallPart;
struct ThreadPart;

class CallStacks final : public Analysis {
 public:
  CallStacks(const Snapshot& snapshot, const CodeExtents& extents, const CallOptions& options);
  ~CallStacks() override;

  std::unique_ptr<FlowPart> part(size_t stream) override;
  bool merge(std::unique_ptr<FlowPart> part) override;

  // After the last merge().
  void finish();
  std::vector<ThreadCalls> threads() const;  // those that ran, by key
  const FunctionLatencies& latencies() const { return latencies_; }

 private:
  friend class CallPart;
  struct Thread;
  struct Turn;

  Thread& thread(const ThreadKey& key);
  void end_turn(const ThreadKey& key, uint64_t tsc);
  void add_turns(const ThreadKey& key, const std::shared_ptr<CallPart>& part, const ThreadPart& thread_part,
                 bool begins);
  bool moves(const ThreadKey& key) const { return moving_.contains(key.tid); }

  const CallOptions options_;
  CallFunctions functions_;
  CallFunctionCache cache_;
  std::unique_ptr<CallSink> sink_;
  std::set<int32_t> moving_;  // threads that ran in more than one stream
  std::map<ThreadKey, std::unique_ptr<Thread>> threads_;
  std::map<size_t, ThreadKey> running_;  // by stream: at the end of the last part
  std::map<ThreadKey, std::vector<Turn>> turns_;
  FunctionLatencies latencies_;
};

}  // namespace fathom::snapshot

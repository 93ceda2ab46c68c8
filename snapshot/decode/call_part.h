// CallPart: what a part of a stream knows of calls without what came before it (call_stack.h).
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "snapshot/decode/call_stack.h"

namespace fathom::snapshot {

// A stretch of one thread's flow. Its tree hangs below a frame that is not known in the part.
struct CallPiece {
  std::vector<FlowItem> first;  // to be repeated on the real stack; a kThread: see turn_item()
  bool known = false;           // there is a tree, and a state
  bool begins_turn = false;
  uint64_t turn_tsc = 0;
  CallState end;
  uint32_t first_node = 0, last_node = 0;
  uint32_t first_slice = 0, last_slice = 0;
};

// What one thread did in a part.
struct ThreadPart {
  ThreadPart(CallFunctionCache& cache, int32_t pid, CallSink* sink, bool with_slices)
      : machine(cache, pid, false, sink, with_slices ? &slices : nullptr) {}

  void begin_turn(uint64_t tsc);
  void close();

  Slices slices;
  CallMachine machine;
  bool blind = true;  // no code was seen since the last piece began
  std::vector<CallPiece> pieces;
  std::vector<uint32_t> moved;  // when merging: its nodes in the thread's tree
};

// The thread gets, or loses, its processor.
FlowItem turn_item(bool begins, uint64_t tsc);
bool turn_begins(const FlowItem& item);

// Latencies of functions, of a part or of all.
class LatencySink final : public CallSink {
 public:
  void completed(const CallFunction* function, uint64_t ticks) override;
  void move_to(FunctionLatencies& latencies);

 private:
  struct Row {
    const CallFunction* function = nullptr;
    Histogram histogram;
  };
  std::vector<Row> rows_;  // by id
};

class CallPart final : public FlowPart {
 public:
  CallPart(CallStacks& owner, size_t stream);
  void take(std::span<const FlowItem> items) override;

  void close();
  size_t stream() const { return stream_; }
  bool began() const { return began_; }
  const ThreadKey& first() const { return first_; }
  const ThreadKey& last() const { return current_key_; }
  uint64_t first_tsc() const { return first_tsc_; }
  std::map<ThreadKey, ThreadPart>& threads() { return threads_; }
  LatencySink& latencies() { return sink_; }

 private:
  void switch_to(const FlowItem& item);
  void leave(uint64_t tsc);
  void enter(uint64_t tsc);
  void look_at(const FlowItem& item);
  size_t see(std::span<const FlowItem> items);
  void cut(const FlowItem& item);

  CallStacks& owner_;
  const size_t stream_;
  CallFunctionCache cache_;
  LatencySink sink_;
  std::map<ThreadKey, ThreadPart> threads_;
  ThreadPart* current_ = nullptr;  // nullptr: of no interest
  ThreadKey current_key_;
  ThreadKey first_;
  uint64_t first_tsc_ = 0;
  bool began_ = false;
};

}  // namespace fathom::snapshot

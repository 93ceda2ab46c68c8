#include "snapshot/decode/call_stack.h"

#include <algorithm>
#include <utility>

#include "snapshot/decode/call_part.h"

namespace fathom::snapshot {

namespace {
constexpr size_t kCompactFrom = 1 << 16;
}  // namespace

// A thread as far as it was merged.
struct CallStacks::Thread {
  Thread(CallFunctionCache& cache, const ThreadKey& key, CallSink* sink, uint64_t most_slices)
      : machine(cache, key.pid, true, sink, most_slices > 0 ? &slices : nullptr) {
    slices.most = most_slices;
  }

  void repeat(const FlowItem& item);
  void go_through(ThreadPart& part, const CallPiece& piece);
  void graft(ThreadPart& part, const CallPiece& piece);
  uint32_t place_of(const ThreadPart& part, const CallNode& node);
  void compact();

  Slices slices;
  CallMachine machine;
  size_t compact_at = kCompactFrom;
};

// A thread's time on a processor, as one part saw it.
struct CallStacks::Turn {
  uint64_t tsc = 0;
  std::vector<FlowItem> before;  // the beginning, or the end of the one before
  std::shared_ptr<CallPart> part;
  size_t first_piece = 0, last_piece = 0;
};

void CallStacks::Thread::repeat(const FlowItem& item) {
  if (item.kind != FlowKind::kThread) {
    machine.step(item);
  } else if (turn_begins(item)) {
    machine.switch_in(item.tsc);
  } else {
    machine.switch_out(item.tsc);
  }
}

void CallStacks::Thread::go_through(ThreadPart& part, const CallPiece& piece) {
  for (const FlowItem& item : piece.first) repeat(item);
  if (!piece.known) return;
  graft(part, piece);
  const auto slices_before = static_cast<uint32_t>(slices.events.size()) - piece.first_slice;
  machine.continue_as(piece.end, part.moved, slices_before);
  for (uint32_t i = piece.first_slice; i < piece.last_slice; ++i) slices.add(part.slices.events[i]);
}

void CallStacks::Thread::graft(ThreadPart& part, const CallPiece& piece) {
  const CallTree& from = part.machine.tree();
  part.moved.resize(std::max<size_t>(part.moved.size(), piece.last_node), CallTree::kRoot);
  for (uint32_t i = piece.first_node; i < piece.last_node; ++i) {
    const uint32_t to = place_of(part, from[i]);
    part.moved[i] = to;
    if (to != CallTree::kNone) machine.tree()[to].add(from[i]);
  }
}

uint32_t CallStacks::Thread::place_of(const ThreadPart& part, const CallNode& node) {
  switch (node.role) {
    case CallRole::kFrame:
      return CallTree::kNone;
    case CallRole::kParent:
      return machine.parent_of_top();
    case CallRole::kFloor:
      return machine.tree().add(CallRole::kFloor, node.reason);
    case CallRole::kFunction:
      break;
  }
  const uint32_t parent = part.moved[node.parent];
  return parent == CallTree::kNone ? machine.top_node(node.function) : machine.tree().child(parent, node.function);
}

void CallStacks::Thread::compact() {
  if (machine.tree().size() < compact_at) return;
  machine.compact();
  compact_at = std::max(kCompactFrom, machine.tree().size() * 2);
}

namespace {

// Threads that switch records show on more than one processor, or that have more than one stream.
std::set<int32_t> moving_threads(const Snapshot& snapshot) {
  std::map<int32_t, int32_t> cpus;
  std::set<int32_t> moving, streams;
  for (const Sideband& row : snapshot.sideband) {
    if (row.kind != SidebandKind::kSwitchIn) continue;
    auto [known, fresh] = cpus.try_emplace(row.tid, row.cpu);
    if (!fresh && known->second != row.cpu) moving.insert(row.tid);
  }
  for (const Stream& stream : snapshot.streams) {
    if (stream.tid > 0 && !streams.insert(stream.tid).second) moving.insert(stream.tid);
  }
  return moving;
}

}  // namespace

CallStacks::CallStacks(const Snapshot& snapshot, const CodeExtents& extents, const CallOptions& options)
    : options_(options),
      functions_(extents),
      cache_(functions_),
      sink_(std::make_unique<LatencySink>()),
      moving_(moving_threads(snapshot)) {}

CallStacks::~CallStacks() = default;

std::unique_ptr<FlowPart> CallStacks::part(size_t stream) {
  return std::make_unique<CallPart>(*this, stream);
}

CallStacks::Thread& CallStacks::thread(const ThreadKey& key) {
  auto& thread = threads_[key];
  if (thread == nullptr) {
    thread = std::make_unique<Thread>(cache_, key, options_.latencies ? sink_.get() : nullptr, options_.most_slices);
  }
  return *thread;
}

bool CallStacks::merge(std::unique_ptr<FlowPart> given) {
  std::shared_ptr<CallPart> part(static_cast<CallPart*>(given.release()));
  if (!part->began()) return true;
  part->close();
  auto running = running_.find(part->stream());
  const bool goes_on = running != running_.end() && running->second == part->first();
  if (!goes_on && running != running_.end()) end_turn(running->second, part->first_tsc());
  running_[part->stream()] = part->last();
  for (auto& [key, thread_part] : part->threads()) {
    cache_.at(key.pid, thread_part.machine.last_tsc());
    const bool begins = !goes_on && key == part->first();
    if (moves(key)) {
      add_turns(key, part, thread_part, begins);
    } else {
      Thread& real = thread(key);
      if (begins) real.machine.switch_in(part->first_tsc());
      for (const CallPiece& piece : thread_part.pieces) real.go_through(thread_part, piece);
      real.compact();
    }
  }
  part->latencies().move_to(latencies_);
  return true;
}

void CallStacks::end_turn(const ThreadKey& key, uint64_t tsc) {
  if (options_.tid >= 0 && options_.tid != key.tid) return;
  if (!moves(key)) return thread(key).machine.switch_out(tsc);
  auto& turns = turns_[key];
  Turn end;
  end.tsc = tsc;
  end.before.push_back(turn_item(false, tsc));
  turns.push_back(std::move(end));
}

void CallStacks::add_turns(const ThreadKey& key, const std::shared_ptr<CallPart>& part, const ThreadPart& thread_part,
                           bool begins) {
  auto& turns = turns_[key];
  for (size_t i = 0; i < thread_part.pieces.size(); ++i) {
    const CallPiece& piece = thread_part.pieces[i];
    if (piece.begins_turn) {
      turns.push_back({piece.turn_tsc, {}, part, i, i});
      if (begins && i == 0) turns.back().before.push_back(turn_item(true, piece.turn_tsc));
    }
    turns.back().last_piece = i + 1;
  }
}

void CallStacks::finish() {
  for (auto& [key, turns] : turns_) {
    std::ranges::stable_sort(turns, {}, &Turn::tsc);
    Thread& real = thread(key);
    for (Turn& turn : turns) {
      for (const FlowItem& item : turn.before) real.repeat(item);
      if (turn.part == nullptr) continue;
      ThreadPart& part = turn.part->threads().at(key);
      for (size_t i = turn.first_piece; i < turn.last_piece; ++i) real.go_through(part, part.pieces[i]);
    }
  }
  turns_.clear();
  for (auto& [key, thread] : threads_) thread->machine.finish();
  static_cast<LatencySink&>(*sink_).move_to(latencies_);
}

std::vector<ThreadCalls> CallStacks::threads() const {
  std::vector<ThreadCalls> threads;
  for (const auto& [key, thread] : threads_) {
    if (thread->machine.ran()) threads.push_back({key, &thread->machine.tree(), &thread->slices});
  }
  return threads;
}

}  // namespace fathom::snapshot

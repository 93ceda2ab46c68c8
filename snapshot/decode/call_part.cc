#include "snapshot/decode/call_part.h"

#include <algorithm>

namespace fathom::snapshot {

FlowItem turn_item(bool begins, uint64_t tsc) {
  FlowItem item = thread_item(0, 0, tsc);
  item.count = begins;
  return item;
}

bool turn_begins(const FlowItem& item) {
  return item.count != 0;
}

void LatencySink::completed(const CallFunction* function, uint64_t ticks) {
  if (function->id >= rows_.size()) rows_.resize(function->id + 1);
  Row& row = rows_[function->id];
  row.function = function;
  row.histogram.record(ticks);
}

void LatencySink::move_to(FunctionLatencies& latencies) {
  for (const Row& row : rows_) {
    if (row.function != nullptr) latencies[row.function].merge(row.histogram);
  }
  rows_.clear();
}

void ThreadPart::begin_turn(uint64_t tsc) {
  CallPiece piece;
  piece.begins_turn = true;
  piece.turn_tsc = tsc;
  piece.first_node = piece.last_node = static_cast<uint32_t>(machine.tree().size());
  piece.first_slice = piece.last_slice = static_cast<uint32_t>(slices.events.size());
  pieces.push_back(std::move(piece));
  blind = true;
}

void ThreadPart::close() {
  if (blind) return;
  CallPiece& piece = pieces.back();
  machine.flush_instructions();
  piece.known = true;
  piece.end = machine.state();
  piece.last_node = static_cast<uint32_t>(machine.tree().size());
  piece.last_slice = static_cast<uint32_t>(slices.events.size());
  blind = true;
}

CallPart::CallPart(CallStacks& owner, size_t stream) : owner_(owner), stream_(stream), cache_(owner.functions_) {}

void CallPart::take(std::span<const FlowItem> items) {
  if (began_ && !items.empty()) cache_.at(current_key_.pid, items.back().tsc);
  while (!items.empty()) {
    const FlowItem& item = items.front();
    size_t taken = 1;
    if (item.kind == FlowKind::kThread) {
      switch_to(item);
    } else if (current_ != nullptr && current_->blind) {
      look_at(item);
    } else if (current_ != nullptr) {
      taken = see(items);
    }
    items = items.subspan(taken);
  }
}

// The first items of a piece, until code says where the flow is.
void CallPart::look_at(const FlowItem& item) {
  current_->pieces.back().first.push_back(item);
  if (item.kind != FlowKind::kBlock && (item.kind != FlowKind::kResume || item.ip == 0)) return;
  current_->machine.begin_piece(item);
  current_->blind = false;
}

size_t CallPart::see(std::span<const FlowItem> items) {
  CallMachine& machine = current_->machine;
  const size_t taken = machine.take(items);
  if (taken == items.size() || items[taken].kind == FlowKind::kThread) return taken;
  const FlowItem& item = items[taken];
  if (!machine.reaches(item)) {
    cut(item);
    return taken + 1;
  }
  cut(CallMachine::reached(item));
  return taken;  // the item itself comes again
}

void CallPart::cut(const FlowItem& item) {
  CallPiece next;
  next.first.push_back(item);
  current_->close();
  next.first_node = current_->pieces.back().last_node;
  next.first_slice = current_->pieces.back().last_slice;
  current_->pieces.push_back(std::move(next));
  if (item.kind == FlowKind::kGap) return;  // blind now
  current_->machine.begin_piece(item);
  current_->blind = false;
}

void CallPart::switch_to(const FlowItem& item) {
  const ThreadKey key = thread_key(item, stream_);
  if (began_ && key == current_key_) return;
  if (current_ != nullptr) leave(item.tsc);
  if (!began_) {
    first_ = key;
    first_tsc_ = item.tsc;
  }
  current_key_ = key;
  current_ = nullptr;
  if (owner_.options_.tid < 0 || owner_.options_.tid == key.tid) enter(item.tsc);
  began_ = true;
}

void CallPart::leave(uint64_t tsc) {
  if (!current_->blind) {
    current_->machine.switch_out(tsc);
  } else {
    current_->pieces.back().first.push_back(turn_item(false, tsc));
  }
}

void CallPart::enter(uint64_t tsc) {
  cache_.at(current_key_.pid, tsc);
  auto [found, fresh] =
      threads_.try_emplace(current_key_, cache_, current_key_.pid, owner_.options_.latencies ? &sink_ : nullptr,
                           owner_.options_.most_slices > 0);
  current_ = &found->second;
  if (!fresh && owner_.moves(current_key_)) current_->close();
  if (current_->pieces.empty() || owner_.moves(current_key_)) current_->begin_turn(tsc);
  if (!began_) return;  // whether the turn begins here or went on, who merges knows
  if (current_->blind) {
    current_->pieces.back().first.push_back(turn_item(true, tsc));
  } else {
    current_->machine.switch_in(tsc);
  }
}

void CallPart::close() {
  for (auto& [key, thread] : threads_) thread.close();
}

}  // namespace fathom::snapshot

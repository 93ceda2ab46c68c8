#include "snapshot/view/kept_flow.h"

#include <algorithm>

#include "snapshot/decode/call_part.h"

namespace fathom::snapshot {

namespace {

constexpr uint64_t kMostRows = UINT32_MAX / 2;  // of a thread
constexpr uint64_t kItemsOfTurn = 16;           // what a turn takes beside its own

struct KeptPart final : FlowPart {
  explicit KeptPart(size_t stream) : stream(stream) {}
  void take(std::span<const FlowItem> more) override { items.insert(items.end(), more.begin(), more.end()); }

  const size_t stream;
  std::vector<FlowItem> items;
};

}  // namespace

std::unique_ptr<FlowPart> KeptFlow::part(size_t stream) {
  return std::make_unique<KeptPart>(stream);
}

bool KeptFlow::merge(std::unique_ptr<FlowPart> part) {
  const auto& kept = static_cast<const KeptPart&>(*part);
  for (const FlowItem& item : kept.items) {
    if (item.kind == FlowKind::kThread) {
      run(item, kept.stream);
    } else if (turn_ != nullptr) {
      keep(item);
    }
  }
  return true;
}

void KeptFlow::run(const FlowItem& thread, size_t stream) {
  const ThreadKey key = thread_key(thread, stream);
  if (turn_ != nullptr && stream == stream_) {
    if (key == running_) return;
    turn_->end_tsc = std::max(turn_->end_tsc, thread.tsc);
  }
  if (turn_ != nullptr && turn_->flow.rows() == 0) {
    turns_[running_].pop_back();  // in which nothing ran that is known
    items_ -= kItemsOfTurn;
  }
  stream_ = stream;
  running_ = key;
  std::vector<Turn>& turns = turns_[key];
  turns.push_back({thread.tsc, thread.tsc, PackedFlow(blocks_)});
  turn_ = &turns.back();
  items_ += kItemsOfTurn;
}

void KeptFlow::keep(const FlowItem& item) {
  if (items_ >= most_items_ || turn_->flow.rows() + rows_of(item) > kMostRows) {
    left_out_rows_ += rows_of(item);
    return;
  }
  ++items_;
  turn_->flow.add(item);
  turn_->end_tsc = std::max(turn_->end_tsc, item.tsc);
}

PackedFlow KeptFlow::joined(std::vector<Turn>& turns) {
  std::erase_if(turns, [](const Turn& turn) { return turn.flow.rows() == 0; });
  std::ranges::stable_sort(turns, {}, &Turn::begin_tsc);
  PackedFlow all(blocks_);
  uint64_t ended = 0;
  for (Turn& turn : turns) {
    if (all.rows() + turn.flow.rows() + 2 > kMostRows) {
      left_out_rows_ += turn.flow.rows();
      continue;
    }
    if (all.rows() == 0) {
      all = std::move(turn.flow);
    } else {
      all.add(turn_item(false, ended));
      all.add(turn_item(true, turn.begin_tsc));
      all.append(turn.flow);
    }
    ended = turn.end_tsc;
    turn.flow = PackedFlow(blocks_);
  }
  return all;
}

std::vector<KeptThread> KeptFlow::finish() {
  std::vector<KeptThread> threads;
  turn_ = nullptr;
  for (auto& [key, turns] : turns_) {
    PackedFlow flow = joined(turns);
    if (flow.rows() > 0) threads.push_back({key, std::move(flow)});
  }
  turns_.clear();
  return threads;
}

}  // namespace fathom::snapshot

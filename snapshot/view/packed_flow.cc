#include "snapshot/view/packed_flow.h"

#include <algorithm>

namespace fathom::snapshot {

namespace {
constexpr size_t kLatest = 1 << 12;
constexpr uint32_t kNone = UINT32_MAX;
}  // namespace

size_t BlockTable::Hash::operator()(const FlowItem& item) const {
  uint64_t hash = item.ip * 0x9e3779b97f4a7c15;
  hash = (hash ^ item.to ^ hash >> 29) * 0xbf58476d1ce4e5b9;
  return (hash ^ item.count ^ static_cast<uint64_t>(item.kind) << 40) * 0x94d049bb133111eb >> 8;
}

BlockTable::BlockTable() : latest_(kLatest, kNone) {}

uint32_t BlockTable::number(FlowItem item) {
  item.tsc = 0;
  uint32_t& latest = latest_[Hash()(item) % kLatest];
  if (latest != kNone && items_[latest] == item) return latest;
  const auto [at, fresh] = numbers_.try_emplace(item, static_cast<uint32_t>(items_.size()));
  if (fresh) items_.push_back(item);
  return latest = at->second;
}

void PackedFlow::begin_time(uint64_t tsc) {
  for (Mark& mark : marks_) mark.tsc = tsc;
  guessed_rows_ = rows_;
}

void PackedFlow::add(const FlowItem& item) {
  const uint64_t rows = rows_of(item);
  if (rows == 0) return;
  const uint64_t tsc = std::max(item.tsc, last_tsc_);
  if (last_tsc_ == 0 && tsc != 0) begin_time(tsc);
  last_tsc_ = tsc;
  if (marks_.empty() || packed_.size() - marks_.back().item >= kItemsOfMark || tsc - marks_.back().tsc > UINT32_MAX) {
    marks_.push_back({packed_.size(), rows_, tsc});
  }
  packed_.push_back({blocks_->number(item), static_cast<uint32_t>(tsc - marks_.back().tsc)});
  rows_ += rows;
  if (item.kind == FlowKind::kBlock) instructions_ += rows;
  if (item.kind == FlowKind::kGap) ++gaps_;
}

void PackedFlow::append(const PackedFlow& later) {
  for (Cursor at = later.begin(); !at.ended(); at.next()) add(at.item());
}

PackedFlow::Cursor::Cursor(const PackedFlow& flow, size_t mark) : flow_(&flow), mark_(mark), item_(0), row_(0) {
  if (mark >= flow.marks_.size()) return;
  item_ = flow.marks_[mark].item;
  row_ = flow.marks_[mark].row;
}

uint64_t PackedFlow::Cursor::tsc() const {
  return flow_->marks_[mark_].tsc + flow_->packed_[item_].ticks;
}

FlowItem PackedFlow::Cursor::item() const {
  FlowItem item = (*flow_->blocks_)[flow_->packed_[item_].block];
  item.tsc = tsc();
  return item;
}

void PackedFlow::Cursor::next() {
  row_ += rows_of((*flow_->blocks_)[flow_->packed_[item_].block]);
  ++item_;
  if (mark_ + 1 < flow_->marks_.size() && flow_->marks_[mark_ + 1].item == item_) ++mark_;
}

// The first item from which on `before` does not hold any more.
template <typename Before>
PackedFlow::Cursor PackedFlow::behind(Before before) const {
  const auto first = std::ranges::partition_point(marks_, [&](const Mark& mark) { return before(mark); });
  return {*this, first == marks_.begin() ? 0 : static_cast<size_t>(first - marks_.begin()) - 1};
}

PackedFlow::Cursor PackedFlow::at_row(uint64_t row) const {
  Cursor at = behind([&](const Mark& mark) { return mark.row <= row; });
  while (!at.ended() && at.row() + rows_of((*blocks_)[at.block()]) <= row) at.next();
  return at;
}

PackedFlow::Cursor PackedFlow::at_item(uint64_t number) const {
  Cursor at = behind([&](const Mark& mark) { return mark.item <= number; });
  while (!at.ended() && at.number() < number) at.next();
  return at;
}

PackedFlow::Cursor PackedFlow::at_tsc(uint64_t tsc) const {
  Cursor at = behind([&](const Mark& mark) { return mark.tsc <= tsc; });
  for (Cursor next = at; !next.ended() && next.tsc() <= tsc; next.next()) at = next;
  return at;
}

uint64_t PackedFlow::row_tsc(const Cursor& at, uint64_t within) const {
  const uint64_t from = at.tsc();
  if (within == 0) return from;
  Cursor next = at;
  next.next();
  if (next.ended() || (*blocks_)[next.block()].kind == FlowKind::kGap) return from;
  const unsigned __int128 between = next.tsc() - from;
  return from + static_cast<uint64_t>(between * within / rows_of((*blocks_)[at.block()]));
}

uint64_t PackedFlow::row_at_tsc(uint64_t tsc) const {
  const Cursor at = at_tsc(tsc);
  if (at.ended()) return 0;
  uint64_t low = 0;  // the last one that is not later lies in [low, high)
  for (uint64_t high = rows_of((*blocks_)[at.block()]); high - low > 1;) {
    const uint64_t middle = low + (high - low) / 2;
    (row_tsc(at, middle) <= tsc ? low : high) = middle;
  }
  return at.row() + low;
}

}  // namespace fathom::snapshot

// PackedFlow: what one thread ran, in eight bytes an item, with any row and any time of it found in a moment.
//
// Purpose: a decoder's flow, kept whole for whoever looks at this part and then at that. Flow repeats itself: an item
// without its time is a number in a BlockTable, and its time is what passed since a mark, of which there is one for
// some hundred items. Rows: an instruction is one, and so is an item that is no block. Time never goes back: what comes
// with an earlier one gets the one before, and what comes before the first time gets that. Thread safety: none needed
// to read, one to add. Ownership: refers to the table. Memory: bytes(). Units: ticks.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "snapshot/decode/flow.h"

namespace fathom::snapshot {

// The different items of a snapshot, but for their times, each with a number.
class BlockTable {
 public:
  BlockTable();
  uint32_t number(FlowItem item);
  const FlowItem& operator[](uint32_t number) const { return items_[number]; }
  size_t size() const { return items_.size(); }

 private:
  struct Hash {
    size_t operator()(const FlowItem& item) const;
  };
  std::vector<FlowItem> items_;
  std::unordered_map<FlowItem, uint32_t, Hash> numbers_;
  std::vector<uint32_t> latest_;  // by hash: what was asked for lately
};

inline uint64_t rows_of(const FlowItem& item) {
  return item.kind == FlowKind::kBlock ? item.count : 1;
}

class PackedFlow {
 public:
  explicit PackedFlow(BlockTable& blocks) : blocks_(&blocks) {}

  void add(const FlowItem& item);
  void append(const PackedFlow& later);

  uint64_t items() const { return packed_.size(); }
  uint64_t rows() const { return rows_; }
  uint64_t instructions() const { return instructions_; }
  uint64_t gaps() const { return gaps_; }
  uint64_t first_tsc() const { return marks_.empty() ? 0 : marks_.front().tsc; }
  uint64_t last_tsc() const { return last_tsc_; }
  uint64_t guessed_rows() const { return guessed_rows_; }  // at the beginning, before anybody told the time
  uint64_t bytes() const { return packed_.capacity() * sizeof(Packed) + marks_.capacity() * sizeof(Mark); }

  // A place in it, from which it goes on.
  class Cursor {
   public:
    bool ended() const { return item_ >= flow_->items(); }
    FlowItem item() const;  // with its time
    uint32_t block() const { return flow_->packed_[item_].block; }
    uint64_t number() const { return item_; }
    uint64_t row() const { return row_; }  // its first one
    uint64_t tsc() const;
    void next();

   private:
    friend class PackedFlow;
    Cursor(const PackedFlow& flow, size_t mark);
    const PackedFlow* flow_;
    size_t mark_;
    uint64_t item_;
    uint64_t row_;
  };
  Cursor begin() const { return {*this, 0}; }
  Cursor at_row(uint64_t row) const;  // the item that has it; ended() behind the last row
  Cursor at_tsc(uint64_t tsc) const;  // the last item that is not later; the first one if all are
  Cursor at_item(uint64_t number) const;

  // Of row `within` of an item: what lies between its time and the next one's is spread over its instructions.
  uint64_t row_tsc(const Cursor& at, uint64_t within) const;
  // The last row that is not later; 0 if all are.
  uint64_t row_at_tsc(uint64_t tsc) const;

 private:
  struct Packed {
    uint32_t block;
    uint32_t ticks;  // since the mark's
  };
  struct Mark {
    uint64_t item;
    uint64_t row;
    uint64_t tsc;
  };
  static constexpr uint64_t kItemsOfMark = 128;

  template <typename Before>
  Cursor behind(Before before) const;
  void begin_time(uint64_t tsc);

  BlockTable* blocks_;
  std::vector<Packed> packed_;
  std::vector<Mark> marks_;
  uint64_t rows_ = 0;
  uint64_t instructions_ = 0;
  uint64_t gaps_ = 0;
  uint64_t last_tsc_ = 0;
  uint64_t guessed_rows_ = 0;
};

}  // namespace fathom::snapshot

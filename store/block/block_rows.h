// BlockRows: the rows of one block, gathered from their batches into the order in which columns are written.
//
// Purpose: each row is decoded once; everything after works on arrays. Ownership: texts point into the batches. Thread
// safety: one thread. KeyRegistry numbers the attribute keys of the whole segment.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "store/block/segment_writer.h"
#include "store/block/shared_table.h"
#include "store/span.h"

namespace fathom::store::block {

inline constexpr uint32_t kNone = UINT32_MAX;

class KeyRegistry {
 public:
  explicit KeyRegistry(uint32_t most_own) : most_own_(most_own) {}

  struct Key {
    std::string_view name;
    uint64_t seed = 0;
    bool on_spans = false;
    bool on_resources = false;
    uint32_t number = kNone;  // of its own columns
  };

  uint32_t id_of(std::string_view name);
  Key& operator[](uint32_t id) { return keys_[id]; }
  const Key& operator[](uint32_t id) const { return keys_[id]; }
  size_t size() const { return keys_.size(); }
  // Gives the key a column of its own; false when the segment has no more numbers.
  bool own(uint32_t id);
  uint32_t own_count() const { return own_count_; }

 private:
  struct SeededHash {
    size_t operator()(std::string_view text) const;
  };
  std::unordered_map<std::string_view, uint32_t, SeededHash> ids_;
  std::vector<Key> keys_;
  const uint32_t most_own_;
  uint32_t own_count_ = 0;
};

// The part of a trace that lies in the block.
struct TracePiece {
  const SegmentTrace* trace = nullptr;
  uint32_t first_row = 0;  // within the block
  uint32_t row_count = 0;
};

// Attribute lists of events or of links, flattened.
struct AttributeLists {
  std::vector<uint32_t> counts;  // per list
  std::vector<ValueView> keys;
  std::vector<ValueView> values;

  void add(std::span<const AttributeView> list);
};

struct BlockRows {
  struct KeyValues {
    uint32_t key = 0;  // in the registry
    std::vector<ValueView> values;
    std::vector<uint8_t> slow;  // per value: 1 when its trace is slow
  };

  std::span<const SegmentRow> rows;
  std::vector<TracePiece> traces;
  uint64_t bytes = 0;  // of bodies and the values they refer to

  // Per row.
  std::vector<ValueView> names, messages, trace_states;
  std::vector<uint64_t> flags, dropped_attributes, dropped_events, dropped_links;
  std::vector<uint32_t> resources, scopes;
  std::vector<uint32_t> shape_begins;  // into shape_keys; one more than rows
  std::vector<uint32_t> shape_keys;    // per attribute, in order: index into `keys`

  std::vector<KeyValues> keys;  // of this block

  std::vector<uint32_t> event_counts, link_counts;   // per row
  std::vector<uint64_t> event_times, event_dropped;  // time less the row's start
  std::vector<ValueView> event_names;
  AttributeLists event_attributes;
  std::string link_ids;  // trace id, span id
  std::vector<ValueView> link_states;
  std::vector<uint64_t> link_flags, link_dropped;
  AttributeLists link_attributes;

  std::vector<uint32_t> operations;       // distinct catalogue ids, ascending
  std::vector<uint32_t> operation_index;  // per row
};

// The row of the piece that its trace's summary names as the root, if it agrees with the summary in span id and
// duration; kNone when there is none. Other chunks leave out what the summary says of that row.
uint32_t root_row_of(const BlockRows& rows, const TracePiece& piece);

// Gathers rows one by one.
class BlockGatherer {
 public:
  BlockGatherer(KeyRegistry& keys, SharedTable& shared) : keys_(keys), shared_(shared) {}

  // `row` continues the rows added before; `trace` is the one it belongs to, `slow` what it is.
  void add(const SegmentRow* row, const SegmentTrace* trace, bool slow);
  size_t row_count() const { return rows_.names.size(); }
  uint64_t bytes() const { return rows_.bytes; }
  // The block, complete; the gatherer is then empty.
  BlockRows take();

 private:
  void add_piece(const SegmentTrace* trace);
  void add_attributes(std::span<const AttributeView> attributes, bool slow);
  void add_events(const SpanView& span);
  void add_links(const SpanView& span);
  uint32_t local_key(uint32_t key);

  KeyRegistry& keys_;
  SharedTable& shared_;
  BlockRows rows_;
  const SegmentRow* first_ = nullptr;
  std::vector<uint32_t> local_;  // per registry key: index into rows_.keys, + 1
  Batch::Scratch scratch_;
};

}  // namespace fathom::store::block

// OlderRows: the light rows of older segments, for a reader that asks for traces in ascending order.
//
// Purpose: segments keep rows in the order of trace ids. Many traces of a segment to seal may have spans in the same
// blocks of older segments. So each such block is kept until a later one is needed, and decoded once, as long as the
// traces lie in at most kMostSegments segments. Thread safety: one thread. Ownership: keeps one block of each of at
// most kMostSegments segments; the SealedReader must outlive it. Errors: as SealedReader.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "store/rocks/sealed.h"

namespace fathom::store {

class OlderRows {
 public:
  explicit OlderRows(SealedReader& sealed) : sealed_(sealed) {}

  // Appends the rows of one part of the trace, and where they lie. Closes the part's segment.
  Result<> read(const TraceId& id, const TracePart& part, std::vector<TraceRow>& rows, std::vector<OlderPlace>& places);

 private:
  static constexpr size_t kMostSegments = 256;
  struct Trace {
    TraceId id;
    uint32_t first_row = 0;
    uint32_t row_count = 0;
  };
  struct Block {
    uint32_t number = 0;
    bool is_last = false;  // of its segment
    std::vector<Trace> traces;
    std::vector<TraceRow> rows;
    const Trace* find(const TraceId& id) const;
    // Only a block's last trace can go on in the next one.
    bool may_go_on(const Trace& trace) const { return &trace == &traces.back() && !is_last; }
  };

  Result<const Block*> block(const TraceId& id, const TracePart& part, uint32_t number);
  void make_room(const TraceId& id);
  Result<Block> decode(const TracePart& part, uint32_t number);

  SealedReader& sealed_;
  std::unordered_map<uint32_t, Block> blocks_;  // by segment
};

}  // namespace fathom::store
